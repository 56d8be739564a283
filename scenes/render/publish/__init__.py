"""What a finished film is posted with: captions, thumbnail, description, provenance; and a scene in other formats."""
