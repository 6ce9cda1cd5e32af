// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// redirects is the maximum number of redirects: from one name to another, and to https.
const redirects = 5

// Look makes probes in order and returns the first *FailedError; nil if all succeed.
func Look(ctx context.Context, probes []Probe) error {
	for _, p := range probes {
		if err := p.look(ctx); err != nil {
			return &FailedError{Probe: p, Cause: p.explain(err)}
		}
	}
	return nil
}

func (p Probe) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	if p.Kind == infrav1.HealthCheckTCP {
		return p.connect(ctx)
	}
	return p.get(ctx)
}

// mistake is an error about the place itself, which it does not quote.
type mistake struct{ error }

func (p Probe) connect(ctx context.Context) error {
	host, port, err := net.SplitHostPort(p.target)
	switch n, bad := strconv.Atoi(port); {
	case strings.Contains(p.target, "://"):
		return mistake{errors.New("the address must be HOST:PORT, without a scheme")}
	case err != nil:
		return mistake{errors.New("the address must be HOST:PORT")}
	case host == "":
		return mistake{errNoHost}
	case bad != nil || n < 1 || n > 65535:
		return mistake{errors.New("the port must be a number from 1 to 65535")}
	}
	conn, err := outbound.Dialer(p.Timeout).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return err
	}
	conn.Close() //nolint:errcheck // a connection is enough
	return nil
}

// statusError is a response with an error status.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answered with status %d %s", e.status, http.StatusText(e.status)))
}

func (p Probe) get(ctx context.Context) error {
	u, err := url.ParseRequestURI(p.target)
	switch {
	case err != nil:
		return mistake{errors.New("it is not a URL")}
	case u.Scheme != "http" && u.Scheme != "https":
		return mistake{errors.New("the URL must begin with http:// or https://")}
	case u.Hostname() == "":
		return mistake{errNoHost}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.target, nil)
	if err != nil {
		return mistake{errors.New("it is not a URL")}
	}
	req.Header.Set("User-Agent", "yuba-health-check")
	response, err := outbound.Client(outbound.Options{Timeout: p.Timeout, Redirects: redirects}).Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()                              //nolint:errcheck // read only
	io.Copy(io.Discard, io.LimitReader(response.Body, 4096)) //nolint:errcheck // only the status counts
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return &statusError{response.StatusCode}
	}
	return nil
}

// explain describes the error without the place and the response.
func (p Probe) explain(err error) string {
	var (
		ours    mistake
		status  *statusError
		timeout net.Error
	)
	switch {
	case errors.As(err, &ours), errors.As(err, &status):
		return err.Error()
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %s", p.Timeout)
	}
	return outbound.Explain(err)
}
