"""Process supervisors measured side by side on the same work."""
