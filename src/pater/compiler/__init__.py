"""How kernels are compiled, and kept on disk. It knows nothing of what they compute."""
