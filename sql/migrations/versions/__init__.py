"""The revisions, one file each, in order."""
