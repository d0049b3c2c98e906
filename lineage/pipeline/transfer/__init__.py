"""Sessions and global books on their way to another workspace."""
