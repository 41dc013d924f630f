"""NVML: the GPUs of this host and who uses them, read from NVIDIA's library and from /proc, without an exporter."""
