"""What judges are asked: strategies as data, excerpts, rendering, and reading the answers."""
