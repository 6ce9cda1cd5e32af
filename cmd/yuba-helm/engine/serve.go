// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"golang.org/x/net/http2"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// server is the connection to the server.
type server struct{ conn *http2.ClientConn } //nolint:staticcheck // as below

// Serve executes calls until the server has no more.
func Serve(in io.ReadCloser, out io.WriteCloser) error {
	watchLimit()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	conn, err := (&http2.Transport{AllowHTTP: true, DisableCompression: true}).NewClientConn(wire.Conn(fromServer{in}, out)) //nolint:staticcheck // what replaces it dials, and this connection is there
	if err != nil {
		return fmt.Errorf("begin the connection to the server: %w", err)
	}
	s := &server{conn: conn}
	var result *wire.Result
	for {
		call, err := s.next(result)
		if call == nil || err != nil {
			return err
		}
		result = s.execute(context.Background(), call)
	}
}

// RoundTrip sends a request to the server, which forwards those to the cluster.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) { return s.conn.RoundTrip(r) }

// next returns the result of the last call and waits for the next one; nil for the end.
func (s *server) next(last *wire.Result) (*wire.Call, error) {
	body := []byte("null")
	if last != nil {
		var err error
		if body, err = json.Marshal(last); err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
	}
	answer, status, err := s.ask(context.Background(), http.MethodPost, wire.PathNext, body, wire.MaxMessage)
	if err != nil || status == http.StatusNoContent {
		return nil, err
	}
	call := &wire.Call{}
	if err := json.Unmarshal(answer, call); err != nil {
		return nil, fmt.Errorf("decode the call: %w", err)
	}
	return call, nil
}

// ask sends a request to the server itself.
func (s *server) ask(ctx context.Context, method, path string, body []byte, limit int64) ([]byte, int, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+wire.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	response, err := s.RoundTrip(r)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read the server's answer: %w", err)
	case int64(len(answer)) > limit:
		return nil, 0, fmt.Errorf("an answer of more than %d MiB is larger than answers may be", limit>>20)
	case response.StatusCode >= http.StatusBadRequest:
		return nil, 0, fmt.Errorf("the server answers %d", response.StatusCode)
	}
	return answer, response.StatusCode, nil
}

func (s *server) input(ctx context.Context) ([]byte, error) {
	data, _, err := s.ask(ctx, http.MethodGet, wire.PathInput, nil, wire.MaxInput)
	return data, err
}

func (s *server) output(ctx context.Context, data []byte) error {
	_, _, err := s.ask(ctx, http.MethodPost, wire.PathOutput, data, wire.MaxMessage)
	return err
}

// failure is an error with its kind.
type failure struct {
	kind wire.FailureKind
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(kind wire.FailureKind, format string, args ...any) error {
	return &failure{kind, fmt.Errorf(format, args...)}
}

// execute executes a call. Every failure is a result.
func (s *server) execute(ctx context.Context, call *wire.Call) (result *wire.Result) {
	result = &wire.Result{}
	defer func() {
		// Templates and charts are hostile, and Helm's parsers have panicked before.
		if r := recover(); r != nil {
			result.Failure = &wire.Failure{Kind: wire.FailedChart, Message: "Helm failed on this chart: it panicked"}
		}
	}()
	err := limitCall(call.Processor)
	if err != nil {
		result.Failure = &wire.Failure{Message: err.Error()}
		return result
	}
	var input []byte
	if call.HasInput {
		if input, err = s.input(ctx); err != nil {
			result.Failure = &wire.Failure{Message: err.Error()}
			return result
		}
	}
	switch call.Operation {
	case wire.Resolve:
		err = resolve(call, input, result)
	case wire.Package:
		err = s.pack(ctx, call, input, result)
	case wire.Inspect:
		err = inspect(input, result)
	default:
		err = s.release(ctx, call, input, result)
	}
	if err != nil {
		f := &failure{}
		if !errors.As(err, &f) {
			f.kind = wire.FailedOperation
		}
		result.Failure = &wire.Failure{Kind: f.kind, Message: err.Error()}
	}
	return result
}
