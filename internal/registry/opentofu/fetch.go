// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

const (
	// connectPatience limits connecting and the response header. If a firewall drops packets, users
	// should not wait minutes for the error.
	connectPatience = 10 * time.Second
	// downloadPatience limits one file. 35 MB take eight minutes at 600 kbit/s.
	downloadPatience = 20 * time.Minute
	// silence is how long a server may send nothing.
	silence = 30 * time.Second
	// redirects is the number of redirects to follow; GitHub's releases use one.
	redirects = 5
)

// errAbsent means that the source does not have the file.
var errAbsent = errors.New("the file does not exist")

// open starts to read a release's file, and returns its size, or -1 if it is unknown.
func (s Source) open(ctx context.Context, u *url.URL) (io.ReadCloser, int64, error) {
	if u.Scheme == "file" {
		return openFile(filepath.FromSlash(u.Path))
	}
	client := outbound.Client(outbound.Options{Timeout: downloadPatience, Connect: connectPatience, Redirects: redirects})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, explained(ctx, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, response.ContentLength, nil
	}
	response.Body.Close() //nolint:errcheck // nothing of it is read
	if response.StatusCode == http.StatusNotFound {
		return nil, 0, errAbsent
	}
	return nil, 0, fmt.Errorf("the response is %s", response.Status)
}

func openFile(path string) (io.ReadCloser, int64, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errAbsent
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// fetch copies a release's file of at most this size. tell receives the progress.
func (s Source) fetch(ctx context.Context, version, file string, most int64, to io.Writer, tell func(done, total int64)) error {
	u, err := s.at(version, file)
	if err != nil {
		return err
	}
	return s.fetchURL(ctx, u, most, to, tell)
}

func (s Source) fetchURL(ctx context.Context, u *url.URL, most int64, to io.Writer, tell func(done, total int64)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch %s: %w", outbound.Show(u.String()), err)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, total, err := s.open(ctx, u)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	if total > most {
		return fmt.Errorf("it has %d MB, which no release has", total/1e6)
	}
	watched := &watched{from: body, timer: time.AfterFunc(silence, func() { cancel(errSilent) }), tell: tell, total: total}
	defer watched.timer.Stop()
	n, err := io.Copy(to, io.LimitReader(watched, most+1))
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return errSilent
	case errors.Is(err, io.ErrUnexpectedEOF) || err == nil && total >= 0 && n < total:
		return fmt.Errorf("it ended after %d of %d bytes. Try again", n, total)
	case err != nil:
		return explained(ctx, err)
	case n > most:
		return fmt.Errorf("it has more than %d MB, which no release has", most/1e6)
	}
	return nil
}

// explained explains network errors; it returns local errors unchanged.
func explained(ctx context.Context, err error) error {
	var local *fs.PathError
	if ctx.Err() != nil || errors.As(err, &local) {
		return err
	}
	return errors.New(outbound.Explain(err))
}

var errSilent = fmt.Errorf("the server sent nothing for %s. Try again", silence)

// watched is a stream that fails when it falls silent.
type watched struct {
	from        io.Reader
	timer       *time.Timer
	tell        func(done, total int64)
	done, total int64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.timer.Reset(silence)
		w.done += int64(n)
		if w.tell != nil {
			w.tell(w.done, w.total)
		}
	}
	return n, err
}
