package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"mime"
	"net/http"

	"github.com/weightmap/weightmap/examples/digits"
)

// problem is an error with its HTTP status.
type problem struct {
	status int
	error
}

func (p *problem) Unwrap() error { return p.error }

func problemf(status int, text string, args ...any) error {
	return &problem{status, fmt.Errorf(text, args...)}
}

// drawing is the body of a request with its content type.
type drawing struct {
	kind string
	body []byte
}

// receive reads the body of a request without decoding it.
func (s *server) receive(w http.ResponseWriter, r *http.Request) (d drawing, err error) {
	d.kind, _, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || d.kind != "image/png" && d.kind != "application/json" {
		return d, problemf(http.StatusUnsupportedMediaType, "a drawing is image/png or application/json")
	}
	d.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.body))
	if err != nil {
		return d, unread(err)
	}
	return d, nil
}

// image decodes and normalizes a drawing.
func (s *server) image(d drawing) (m digits.Image, err error) {
	if d.kind == "image/png" {
		m, err = s.fromPNG(d.body)
	} else {
		m, err = s.fromJSON(d.body)
	}
	if errors.Is(err, digits.ErrEmpty) {
		err = problemf(http.StatusUnprocessableEntity, "nothing is drawn")
	}
	return m, err
}

// unread explains why a body could not be read.
func unread(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return problemf(http.StatusRequestEntityTooLarge, "more than %d bytes", large.Limit)
	}
	return problemf(http.StatusRequestTimeout, "the request did not come in time, or not whole")
}

// fromPNG decodes a picture after checking its size.
func (s *server) fromPNG(body []byte) (digits.Image, error) {
	c, err := png.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return digits.Image{}, problemf(http.StatusBadRequest, "no PNG: %v", err)
	}
	if err := s.fits(c.Width, c.Height); err != nil {
		return digits.Image{}, err
	}
	picture, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		return digits.Image{}, problemf(http.StatusBadRequest, "no PNG: %v", err)
	}
	return digits.FromImage(picture)
}

// fromJSON decodes {"width":2,"height":1,"pixels":[0,255]}.
func (s *server) fromJSON(body []byte) (digits.Image, error) {
	var d struct {
		Width  int    `json:"width"`
		Height int    `json:"height"`
		Pixels []ink8 `json:"pixels"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return digits.Image{}, problemf(http.StatusBadRequest, "no drawing in JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return digits.Image{}, problemf(http.StatusBadRequest, "something follows the drawing")
	}
	if err := s.fits(d.Width, d.Height); err != nil {
		return digits.Image{}, err
	}
	if len(d.Pixels) != d.Width*d.Height {
		return digits.Image{}, problemf(http.StatusBadRequest, "%d pixels, not %d by %d", len(d.Pixels), d.Width, d.Height)
	}
	ink := make([]uint8, len(d.Pixels))
	for i, p := range d.Pixels {
		ink[i] = uint8(p)
	}
	return digits.Normalize(ink, d.Width, d.Height)
}

// ink8 is a pixel. (encoding/json represents a list of uint8 as Base64.)
type ink8 uint16

// UnmarshalJSON accepts integers from 0 to 255.
func (p *ink8) UnmarshalJSON(text []byte) error {
	n := 0
	for _, c := range text {
		if n = 10*n + int(c-'0'); c < '0' || c > '9' || n > 255 {
			return fmt.Errorf("%.20q is no pixel from 0 to 255", text)
		}
	}
	*p = ink8(n)
	return nil
}

// fits checks dimensions before memory is allocated for them.
func (s *server) fits(width, height int) error {
	if width <= 0 || height <= 0 {
		return problemf(http.StatusBadRequest, "%d by %d pixels", width, height)
	}
	if width > s.limits.pixels/height {
		return problemf(http.StatusRequestEntityTooLarge, "%d by %d pixels are more than %d", width, height, s.limits.pixels)
	}
	return nil
}
