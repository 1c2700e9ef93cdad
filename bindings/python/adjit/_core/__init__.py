"""What all layers stand on: the library, element types, errors, containers."""
