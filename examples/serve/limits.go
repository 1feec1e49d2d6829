package main

import (
	"net"
	"sync"
	"time"
)

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

// limit accepts so many connections at a time.
func limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &conn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// conn has a place until it is closed.
type conn struct {
	net.Conn
	leave func()
}

func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
