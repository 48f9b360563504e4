package web

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

// How long each step towards an answer may take.
const (
	dialTime   = 10 * time.Second
	tlsTime    = 10 * time.Second
	answerTime = 30 * time.Second // from the request to the first headers
)

// failure says what failed and where to who has asked for a page. What a program makes of it is below.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// unanswered says why a request got no answer, in words that are not those of a library.
func unanswered(err error) error {
	if refused := (*addressError)(nil); errors.As(err, &refused) {
		return refused // what dialled it would name the address once more
	}
	if text := whyUnanswered(err); text != "" {
		return &failure{text, err}
	}
	return err
}

// whyUnanswered knows a few errors by their text: net/http exports neither their types nor their values. The
// tests provoke each of them, so that one with another text is found when Go changes.
func whyUnanswered(err error) string {
	var (
		lookup *net.DNSError
		op     *net.OpError
		timed  net.Error
	)
	switch {
	case errors.As(err, &lookup):
		return unresolved(lookup)
	case errors.As(err, &op) && op.Op == "dial":
		where := ""
		if op.Addr != nil {
			where = " to " + op.Addr.String()
		}
		return "cannot connect" + where + ": " + reason(op)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE), err.Error() == "http: server closed idle connection":
		return "the server closed the connection without an answer"
	case errors.Is(err, syscall.ECONNRESET):
		return "the server broke the connection off without an answer"
	case errors.As(err, &timed) && timed.Timeout():
		if err.Error() == "net/http: TLS handshake timeout" {
			return fmt.Sprintf("the server took the connection and did not encrypt it within %v", tlsTime)
		}
		return fmt.Sprintf("the server did not begin to answer within %v", answerTime)
	}
	if text := unencrypted(err); text != "" {
		return text
	}
	if what, broken := strings.CutPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: "); broken {
		return "the server's answer is not as HTTP has it: " + clip(strings.TrimPrefix(what, "net/http: "))
	}
	return ""
}

// unencrypted says why a connection could not be encrypted, "" if it is not that.
func unencrypted(err error) string {
	var (
		untrusted *tls.CertificateVerificationError
		other     tls.RecordHeaderError
		op        *net.OpError
		alert     tls.AlertError
	)
	switch {
	case errors.As(err, &untrusted):
		return "the certificate of the server is not to be trusted: " + clip(strings.TrimPrefix(untrusted.Err.Error(), "x509: "))
	case errors.As(err, &other):
		return "the server does not encrypt at this port: is its address http:// and not https://?"
	case errors.As(err, &alert):
		return "the server did not agree to encrypt the connection: " + strings.TrimPrefix(alert.Error(), "tls: ")
	case errors.As(err, &op) && op.Op == "remote error":
		return "the server did not agree to encrypt the connection: " + strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return ""
}

// unresolved says of a name that it leads nowhere. Who was asked for it is the matter of the host.
func unresolved(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "there is no host " + clip(err.Name)
	case err.IsTimeout:
		return "the address of " + clip(err.Name) + " was not found in time: the name server does not answer"
	}
	return "the address of " + clip(err.Name) + " cannot be found: the name server gives no answer that can be used"
}

// reason is what a system says of a connection.
func reason(op *net.OpError) string {
	var call *os.SyscallError
	switch {
	case op.Timeout():
		return fmt.Sprintf("no answer within %v", dialTime)
	case errors.As(op.Err, &call):
		return call.Err.Error()
	}
	return op.Err.Error()
}

// wire is a body as it comes. It says where a connection ended before all of it was here: to a
// decompressor that would be the end of its stream.
type wire struct {
	body io.Reader
	what string // came
}

func (w wire) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = &failure{"only a part of the " + w.what + " came: the server closed the connection before its end", err}
	case errors.Is(err, syscall.ECONNRESET):
		err = &failure{"only a part of the " + w.what + " came: the server broke the connection off", err}
	}
	return n, err
}

// readError says why a body could not be read.
func readError(err error) error {
	var (
		known   *failure
		corrupt flate.CorruptInputError
	)
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{"only a part of the page came: it is compressed, and ends in the middle", err}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("the page is not compressed as its server says: %w", err)
	}
	return fmt.Errorf("read the page: %w", err)
}

// later says when a server wants to be asked again, "" if it does not say it.
func later(header string) string {
	switch at, err := http.ParseTime(header); {
	case header == "":
		return ""
	case err == nil && time.Until(at) > 24*time.Hour:
		return soon(time.Until(at))
	case err != nil && hasDigits(header):
		if wait := seconds(header); wait > 24*time.Hour {
			return soon(wait)
		}
		return header + " s"
	}
	return clip(oneLineOf(header))
}

// soon is a time to wait. What is longer than anybody would wait has no end.
func soon(wait time.Duration) string {
	if wait > 24*time.Hour {
		return "more than a day"
	}
	return wait.Round(time.Second).String()
}

// hasDigits tells whether a text has digits alone.
func hasDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
