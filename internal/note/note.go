// Package note carries a note about a model that is opened, such as where it comes from, to
// Model.Notes.
package note

import "context"

type key struct{}

// With returns a context for opening a model with a note.
func With(ctx context.Context, note string) context.Context {
	return context.WithValue(ctx, key{}, note)
}

// Of returns the note of a context, or "".
func Of(ctx context.Context) string {
	note, _ := ctx.Value(key{}).(string)
	return note
}
