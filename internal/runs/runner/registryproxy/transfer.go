// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registryproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

// Headers that are passed on.
var (
	requestHeaders  = []string{"Accept", "Range", "If-Range"}
	responseHeaders = []string{"Content-Type", "Content-Length", "Content-Range", "Accept-Ranges", "Etag", "Last-Modified", "Retry-After", "X-Terraform-Get", "Location"}
)

// transfer is one request and its answer.
type transfer struct {
	proxy        *Proxy
	method, path string
	header       http.Header
}

// name is the path without its signature, which gives the file to everybody and must not be in a log.
func (t *transfer) name() string { return withoutSignature(t.path) }

func withoutSignature(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	if n := len(parts); n > 3 && (parts[n-3] == "archive" || parts[n-3] == "files") {
		parts[n-2] = "…"
	}
	return strings.Join(parts, "/")
}

// serve answers the client.
func (t *transfer) serve(ctx context.Context, w http.ResponseWriter) {
	answer, err := t.ask(ctx, t.header)
	if err != nil {
		t.refuse(ctx, w, http.StatusBadGateway, err)
		return
	}
	defer func() { answer.Body.Close() }() //nolint:errcheck // it was only read
	if err := t.checkRedirect(answer); err != nil {
		t.refuse(ctx, w, http.StatusBadGateway, err)
		return
	}
	if answer.StatusCode >= http.StatusBadRequest {
		t.tell(w, answer)
		return
	}
	for _, h := range responseHeaders {
		if value := answer.Header.Get(h); value != "" {
			w.Header().Set(h, value)
		}
	}
	w.WriteHeader(answer.StatusCode)
	if t.method == http.MethodHead {
		return
	}
	if err := t.pass(ctx, w, answer); err != nil {
		if ctx.Err() == nil {
			t.proxy.note(fmt.Sprintf("get %s from this server's registry: %v", t.name(), err))
		}
		panic(http.ErrAbortHandler) // part of the answer is sent: only this tells that it is incomplete
	}
}

// refuse answers with an error of the proxy.
func (t *transfer) refuse(ctx context.Context, w http.ResponseWriter, status int, err error) {
	if ctx.Err() == nil {
		t.proxy.note(fmt.Sprintf("get %s from this server's registry: %v", t.name(), err))
	}
	http.Error(w, err.Error(), status)
}

// Declined asks for a path once, and returns the reason if the registry does not allow it. Other
// problems are left to the download.
func Declined(ctx context.Context, open Open, path string) string {
	answer, err := open(ctx, http.MethodGet, path, http.Header{})
	if err != nil {
		return ""
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if answer.StatusCode != http.StatusForbidden || answer.Header.Get(run.HeaderRegistry) == "" {
		return ""
	}
	return "This server's mirror does not serve it: " + problemText(text)
}

// Get asks for a path until the registry answers. The caller closes the body. If the answer is not 200,
// it is nil, and the problem says why.
func Get(ctx context.Context, open Open, path string) (answer *http.Response, problem string, err error) {
	t := &transfer{proxy: &Proxy{open: open, patience: patience}, method: http.MethodGet, path: path, header: http.Header{}}
	answer, err = t.ask(ctx, t.header)
	if err != nil || answer.StatusCode == http.StatusOK {
		return answer, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	return nil, problemText(text), nil
}

// maxProblem limits what is read of the text of an error.
const maxProblem = 4 << 10

// tell passes on an error of the registry, and remembers its text.
func (t *transfer) tell(w http.ResponseWriter, answer *http.Response) {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	t.proxy.note(fmt.Sprintf("This server's registry answered %s for %s: %s", answer.Status, t.name(), problemText(text)))
	if kind := answer.Header.Get("Content-Type"); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(answer.StatusCode)
	w.Write(text) //nolint:errcheck // the client may have gone
}

// problemText finds the message in the body of an error: of Kubernetes, of registries, or plain.
func problemText(body []byte) string {
	var document struct {
		Message string   `json:"message"`
		Errors  []string `json:"errors"`
	}
	if json.Unmarshal(body, &document) == nil {
		if document.Message != "" {
			return document.Message
		}
		if len(document.Errors) > 0 {
			return strings.Join(document.Errors, "; ")
		}
	}
	text := strings.Join(strings.Fields(string(body)), " ")
	if text == "" {
		return "it gave no reason"
	}
	return text
}

// checkRedirect refuses redirects that lead out of the registry.
func (t *transfer) checkRedirect(answer *http.Response) error {
	location := answer.Header.Get("Location")
	if location == "" {
		return nil
	}
	to, err := url.Parse(location)
	if err != nil || to.Scheme != "" || to.Host != "" || strings.HasPrefix(to.Path, "/") {
		return errors.New("the registry redirects to elsewhere, which downloads of runs do not follow")
	}
	return t.proxy.allows(path.Join(path.Dir(t.name()), to.EscapedPath()))
}

// ask sends the request until the registry answers, or the patience ends.
func (t *transfer) ask(ctx context.Context, header http.Header) (*http.Response, error) {
	var pause link.Backoff
	waiting, cancel := context.WithTimeout(ctx, t.proxy.patience)
	defer cancel()
	for {
		answer, err := t.proxy.open(ctx, t.method, t.path, header)
		if err == nil {
			if answer, err = registryAnswer(answer); err == nil {
				return answer, nil
			}
		}
		var final *FinalError
		if errors.As(err, &final) || ctx.Err() != nil {
			return nil, err
		}
		if !pause.Wait(waiting) {
			return nil, fmt.Errorf("the server did not answer within %s: %w", t.proxy.patience, err)
		}
	}
}

// registryAnswer returns the answer if it is the registry's. Others are of a server that is starting, or
// that wants nothing more of the run.
func registryAnswer(answer *http.Response) (*http.Response, error) {
	if answer.Header.Get(run.HeaderRegistry) != "" {
		return answer, nil
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	err := fmt.Errorf("the server answered %s: %s", answer.Status, problemText(text))
	var problem run.Problem
	known := json.Unmarshal(text, &problem) == nil && problem.Message != ""
	switch {
	case answer.StatusCode == http.StatusGone, answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusNotFound && known:
		return nil, &FinalError{err}
	}
	return nil, err
}

// pass copies the answer's body, and continues it after a failure.
func (t *transfer) pass(ctx context.Context, w http.ResponseWriter, answer *http.Response) error {
	whole := answer.StatusCode == http.StatusOK && t.header.Get("Range") == ""
	tag, length := answer.Header.Get("Etag"), answer.ContentLength
	sent, failedAt := int64(0), int64(-1)
	for {
		n, err := t.copy(w, answer.Body)
		sent += n
		var lost *lostError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &lost) || ctx.Err() != nil || !whole || sent == failedAt: // without any progress
			return err
		}
		failedAt = sent
		answer.Body.Close() //nolint:errcheck,gosec // it was only read
		next, err := t.resume(ctx, sent, tag, length)
		if err != nil {
			return err
		}
		*answer = *next
	}
}

// resume asks for the rest of an answer.
func (t *transfer) resume(ctx context.Context, sent int64, tag string, length int64) (*http.Response, error) {
	header := t.header.Clone()
	header.Set("Range", fmt.Sprintf("bytes=%d-", sent))
	if tag != "" {
		header.Set("If-Range", tag)
	}
	answer, err := t.ask(ctx, header)
	if err != nil {
		return nil, err
	}
	other := errors.New("the file changed in the middle of its download")
	switch {
	case answer.Header.Get("Etag") != tag:
	case answer.StatusCode == http.StatusPartialContent && strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", sent)):
		return answer, nil
	case answer.StatusCode == http.StatusOK && answer.ContentLength == length: // it sends everything again
		if _, err = t.copy(io.Discard, firstBytes{io.LimitReader(answer.Body, sent), answer.Body}); err == nil {
			return answer, nil
		}
		other = err
	case answer.StatusCode != http.StatusOK:
		other = fmt.Errorf("the registry answered %s for the rest of the file", answer.Status)
	}
	return nil, errors.Join(other, answer.Body.Close())
}

// firstBytes is the beginning of a body.
type firstBytes struct {
	io.Reader
	io.Closer
}

// lostError is a failure of the server's side of a transfer.
type lostError struct{ error }

// Unwrap returns the error.
func (e *lostError) Unwrap() error { return e.error }

// chunk is how much is passed on at a time.
const chunk = 64 << 10

// copy copies until the end. A body that gives nothing for the proxy's patience is closed.
func (t *transfer) copy(w io.Writer, body io.ReadCloser) (sent int64, err error) {
	watch := time.AfterFunc(t.proxy.patience, func() { _ = body.Close() }) // the reader gets an error
	defer watch.Stop()
	buffer := make([]byte, chunk)
	for {
		n, readErr := body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return sent, err
			}
			sent += int64(n)
			watch.Reset(t.proxy.patience)
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return sent, nil
		case readErr != nil:
			return sent, &lostError{fmt.Errorf("the answer ended early: %w", readErr)}
		}
	}
}
