package mag
