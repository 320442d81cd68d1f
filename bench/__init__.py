"""What `make bench` measures: time and memory, on one machine, dated."""
