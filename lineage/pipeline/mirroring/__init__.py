"""One memory in two stores: moved from one to the other, or kept in step."""
