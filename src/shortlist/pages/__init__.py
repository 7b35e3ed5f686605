"""Pictures and pages of what was released."""
