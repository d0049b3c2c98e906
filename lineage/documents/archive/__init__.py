"""The archive, a guest: artifacts packed by month, and the store that reads them in their place."""
