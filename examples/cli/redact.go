package cli

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// Redacting returns a writer that removes from messages what may be a credential in the arguments
// of a program: the user of an address, and its query and fragment. It returns errs if there is
// none. An argument that names a file is no address.
func Redacting(errs io.Writer, args []string) io.Writer {
	var secrets []string
	for _, arg := range args {
		_, err := os.Lstat(arg)
		if err == nil {
			continue
		}
		for _, secret := range credentials(arg) {
			inQuotes := strings.Trim(strconv.Quote(secret), `"`)
			secrets = append(secrets, secret, "", inQuotes, "", Printable(secret), "")
		}
	}
	if len(secrets) == 0 {
		return errs
	}
	return &redactor{errs, strings.NewReplacer(secrets...)}
}

// redactor is a writer of whole messages.
type redactor struct {
	to      io.Writer
	secrets *strings.Replacer
}

// Write implements io.Writer.
func (r *redactor) Write(p []byte) (int, error) {
	_, err := r.secrets.WriteString(r.to, string(p))
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// credentials returns the parts of an address that may be credentials, each with the sign that sets
// it off: "user:password@", "?token=...". The address may be malformed, and may stand after "KEY="
// or "-option=".
func credentials(arg string) (secrets []string) {
	scheme, rest, isAddress := strings.Cut(arg, ":/")
	if len(scheme) < 2 { // none, or a drive
		isAddress = false
	}
	if !isAddress {
		rest = arg
	}
	at := strings.IndexByte(rest, '?')
	if at >= 0 && (isAddress || strings.Contains(rest[at:], "=")) {
		secrets = append(secrets, rest[at:])
		rest = rest[:at]
	}
	at = strings.IndexByte(rest, '#')
	if at >= 0 && isAddress {
		secrets = append(secrets, rest[at:])
		rest = rest[:at]
	}
	rest = strings.TrimLeft(rest, "/")
	host, _, _ := strings.Cut(rest, "/")
	end := strings.LastIndexByte(host, '@')
	_, port, hasColon := strings.Cut(host, ":")
	isPort := strings.Trim(port, "0123456789") == ""
	if end < 0 && hasColon && !isPort { // a password with a slash
		end = strings.LastIndexByte(rest, '@')
	}
	if end >= 0 && (isAddress && !strings.HasSuffix(scheme, "hf") || hasColon) {
		secrets = append(secrets, rest[:end+1])
	}
	return secrets
}
