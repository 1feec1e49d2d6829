package main

import "time"

// limits bound the resources of clients. Memory is bounded by one body per connection and one
// decoded drawing per concurrent prediction.
type limits struct {
	body        int64         // bytes of a request
	pixels      int           // of a drawing
	predictions int           // concurrent, including decoding; others wait
	wait        time.Duration // for a turn; then the client is told to retry
	connections int           // concurrent; others wait to be accepted
	header      time.Duration // to send the header of a request
	read        time.Duration // to send all of it
	write       time.Duration // from the header to the end of the response
	idle        time.Duration // between requests
	drain       time.Duration // for requests that have begun when the program ends
}

var defaults = limits{
	body: 1 << 19, pixels: 1 << 20, predictions: 16, wait: 2 * time.Second, connections: 256,
	header: 5 * time.Second, read: 10 * time.Second, write: 20 * time.Second, idle: 30 * time.Second, drain: 25 * time.Second,
}
