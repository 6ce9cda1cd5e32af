// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

const (
	// attempts is how often a download is begun or continued.
	attempts = 4
	// maxWait limits the pause that a server asks for before the next attempt.
	maxWait = 10 * time.Second
	// downloadPatience limits a download: 1 GB takes 23 minutes at 6 Mbit/s.
	downloadPatience = time.Hour
)

// silence is how long a server may send nothing. It is a variable for tests.
var silence = 30 * time.Second

// spool is a file with the hash of what was written to it.
type spool struct {
	file *os.File
	hash hash.Hash
	size int64
}

func newSpool(path string) (*spool, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &spool{file: file, hash: sha256.New()}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.hash.Write(p[:n])
	s.size += int64(n)
	return n, err
}

// restart forgets what was written.
func (s *spool) restart() error {
	s.hash.Reset()
	s.size = 0
	_, err := s.file.Seek(0, io.SeekStart)
	return errors.Join(err, s.file.Truncate(0))
}

func (s *spool) sum() string  { return hex.EncodeToString(s.hash.Sum(nil)) }
func (s *spool) close() error { return s.file.Close() }

// download downloads an archive and compares it with the signed sums.
func (m *Mirror) download(ctx context.Context, r *record, p layout.Platform, path string) (err error) {
	found, err := m.find(ctx, r.ProviderVersion, p)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s for %s", r, p)
	if err := r.check(p, strings.ToLower(found.Sum)); err != nil {
		return &UntrustedError{what, fmt.Errorf("the origin says that %w", err)}
	}
	u, err := found.at.Parse(found.URL)
	if err != nil || found.URL == "" {
		return &OriginError{Host: r.Host, What: "find " + what, Err: errors.New("it does not say where the archive is")}
	}
	to, err := newSpool(path)
	if err != nil {
		return &offer.StoreError{What: what, Err: err}
	}
	defer func() { err = errors.Join(err, to.close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, downloadPatience, fmt.Errorf("the download took longer than %s", downloadPatience))
	defer cancel()
	if err := m.transfer(ctx, u, to); err != nil {
		var local *fs.PathError
		if errors.As(err, &local) {
			return &offer.StoreError{What: what, Err: err}
		}
		return &OriginError{Host: r.Host, What: "download " + what, Status: status(err), Err: fmt.Errorf("%s: %w", u.Host, err)}
	}
	if err := r.check(p, to.sum()); err != nil {
		return &UntrustedError{what, err}
	}
	return nil
}

// transfer downloads a file in one or more attempts.
func (m *Mirror) transfer(ctx context.Context, u *url.URL, to *spool) error {
	for attempt := 1; ; attempt++ {
		err := m.origins.part(ctx, u, to)
		var local *fs.PathError
		if err == nil || attempt == attempts || ctx.Err() != nil || errors.As(err, &local) || !again(err) {
			return err
		}
		m.log.Info("the download of an archive is continued", "host", u.Host, "attempt", attempt, "bytes", to.size, "error", err)
		pause := time.NewTimer(wait(err, attempt))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

// again reports whether another attempt may end differently.
func again(err error) bool {
	var large *largeError
	var private *privateError
	code := status(err)
	return !errors.As(err, &large) && !errors.As(err, &private) && (code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusLoopDetected)
}

func wait(err error, attempt int) time.Duration {
	pause := time.Duration(attempt*attempt) * 250 * time.Millisecond
	var answer *unexpected
	if errors.As(err, &answer) {
		pause = max(pause, min(answer.wait, maxWait))
	}
	return pause
}

// largeError means that an archive is larger than any provider.
type largeError struct{}

func (*largeError) Error() string {
	return fmt.Sprintf("the archive has more than %d GiB, which no provider has", release.MaxArchive>>30)
}

var errSilent = errors.New("the server sent nothing for a while, and the download was cancelled")

// part downloads a file, or the rest of it if the server can do that.
func (o *origins) part(ctx context.Context, u *url.URL, to *spool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{}
	if to.size > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", to.size))
	}
	response, err := o.request(ctx, u, header)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	continued := response.StatusCode == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", to.size))
	switch {
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(to.restart(), errors.New("the server does not have the rest of the archive"))
	case response.StatusCode != http.StatusOK && !continued:
		return refused(response)
	case !continued:
		if err := to.restart(); err != nil {
			return err
		}
	}
	if response.ContentLength > release.MaxArchive-to.size {
		return &largeError{}
	}
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	_, err = io.Copy(to, io.LimitReader(&download.Awake{Reader: response.Body, Alarm: alarm, Silence: silence}, release.MaxArchive+1-to.size))
	var local *fs.PathError
	switch {
	case to.size > release.MaxArchive:
		return &largeError{}
	case err == nil || errors.As(err, &local):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("after %d bytes: %w", to.size, explain(err))
}
