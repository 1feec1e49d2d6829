package signing

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Bundle", o.Bundle, "Ignore", o.Ignore, "AllowUnsigned", o.AllowUnsigned, "FollowLinks", o.FollowLinks,
		"ShardSize", o.ShardSize, "Workers", o.Workers, "Progress", o.Progress != nil)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the policy, on one line.
func (p Policy) String() string {
	return oneline.Struct("Policy", "Trust", p.Trust, "Bundle", p.Bundle, "Root", p.Root, "Options", p.Options)
}

// GoString implements fmt.GoStringer like String.
func (p Policy) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Policy) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String describes the signer and the number of files, on one line.
func (r Report) String() string {
	return oneline.Struct("Report", "Method", string(r.Method), "Signer", r.Signer, "Name", r.Name, "Digest", r.Digest, "Files", len(r.Files))
}

// GoString implements fmt.GoStringer like String.
func (r Report) GoString() string { return r.String() }

// LogValue implements slog.LogValuer like String.
func (r Report) LogValue() slog.Value { return slog.StringValue(r.String()) }

// String describes that there is a key, on one line.
func (s Signer) String() string {
	return oneline.Struct("Signer", "Key", oneline.Secret(s.Key != nil), "Chain", len(s.Chain))
}

// GoString implements fmt.GoStringer like String.
func (s Signer) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Signer) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String describes whom it trusts, on one line.
func (t Trust) String() string {
	return oneline.Struct("Trust", "Keys", len(t.Keys), "Roots", t.Roots != nil, "Time", oneline.Plain(fmt.Sprint(t.Time)), "Sigstore", t.Sigstore != nil)
}

// GoString implements fmt.GoStringer like String.
func (t Trust) GoString() string { return t.String() }

// LogValue implements slog.LogValuer like String.
func (t Trust) LogValue() slog.Value { return slog.StringValue(t.String()) }

// String describes the method and the claimed signer, on one line.
func (b *Bundle) String() string {
	if b == nil || b.method == "" {
		return "no bundle"
	}
	return oneline.Struct("Bundle", "Method", string(b.Method()), "Signer", b.Signer())
}

// GoString implements fmt.GoStringer like String.
func (b *Bundle) GoString() string { return b.String() }

// LogValue implements slog.LogValuer like String.
func (b *Bundle) LogValue() slog.Value { return slog.StringValue(b.String()) }
