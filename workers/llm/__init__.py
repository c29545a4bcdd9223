"""Models, by LiteLLM: one reply, its tokens, its tool calls. Nothing here knows what a kernel is."""
