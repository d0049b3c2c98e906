"""Rules and models that read turns: digests, candidates for memory, and the policy that admits them."""
