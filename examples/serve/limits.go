package main

import "time"

// limits are what clients may take. In memory that is as many bodies as connections, and what drawings of as many
// pixels take for every prediction at a time.
type limits struct {
	body        int64         // bytes of a request
	pixels      int           // of a drawing
	predictions int           // at a time, with decoding; others wait
	wait        time.Duration // for their turn, then they are told to come back
	connections int           // at a time; others wait to be accepted
	header      time.Duration // to send the header of a request
	read        time.Duration // to send all of it
	write       time.Duration // from the header to the end of the answer
	idle        time.Duration // between requests
	drain       time.Duration // for what has begun when the program ends
}

var defaults = limits{
	body: 1 << 19, pixels: 1 << 20, predictions: 16, wait: 2 * time.Second, connections: 256,
	header: 5 * time.Second, read: 10 * time.Second, write: 20 * time.Second, idle: 30 * time.Second, drain: 25 * time.Second,
}
