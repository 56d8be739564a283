"""The film page: one HTML file with a proxy of the film, its timeline, its figures and an interactive roofline."""
