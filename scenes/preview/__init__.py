"""The preview: a page on this machine that plays drafts of scenes and draws them again as their sources are saved."""
