package wia
