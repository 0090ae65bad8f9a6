"""The papers in plain NumPy, slow and obvious; the kernels are tested against them."""
