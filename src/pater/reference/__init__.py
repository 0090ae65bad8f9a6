"""The papers in plain NumPy, slow and obvious: what the kernels are tested against."""
