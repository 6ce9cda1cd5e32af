// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// maxBundles limits the compiled bundles that are kept.
const maxBundles = 64

// watchdog is longer than any call may take.
const watchdog = 2 * time.Minute

// server answers calls, one at a time.
type server struct {
	bundles map[string]*bundle
	// order has the keys of bundles, the one that was used last at the end.
	order []string
	// input identifies the members.
	input   string
	members map[string]*ast.Term
}

// Serve answers calls until in ends.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{bundles: map[string]*bundle{}}
	for {
		var request wire.Request
		parts, err := wire.ReceiveParts(in, &request)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a request: %w", err)
		}
		if err := wire.Send(out, s.answer(request, parts)); err != nil {
			return fmt.Errorf("send a response: %w", err)
		}
	}
}

// answer never panics: some of OPA's functions do on unexpected values.
func (s *server) answer(request wire.Request, parts [][]byte) (response wire.Response) {
	defer func() {
		if p := recover(); p != nil {
			response = wire.Response{Error: fmt.Sprintf("OPA failed: %v", p)}
		}
	}()
	// The server ends a process that does not answer. If the server is gone, nobody else does.
	defer time.AfterFunc(watchdog, func() { os.Exit(1) }).Stop()
	var err error
	switch ctx := context.Background(); {
	case request.Load != nil:
		response.Loaded, err = s.load(ctx, request.Load)
	case request.Evaluate != nil:
		response.Findings, response.NotLoaded, err = s.evaluate(ctx, request.Evaluate, parts)
	case request.Test != nil:
		response.Tests, err = runTests(ctx, request.Test)
	default:
		err = errors.New("the request is empty. This is a bug in Yuba")
	}
	if err != nil {
		return wire.Response{Error: err.Error()}
	}
	return response
}

func keyOf(digest, pkg string) string { return digest + " " + pkg }

func (s *server) load(ctx context.Context, in *wire.Load) (*wire.Loaded, error) {
	b, err := load(ctx, in)
	if err != nil {
		return nil, err
	}
	key := keyOf(in.Digest, in.Package)
	s.bundles[key] = b
	s.used(key)
	if len(s.order) > maxBundles {
		delete(s.bundles, s.order[0])
		s.order = s.order[1:]
	}
	return &b.Loaded, nil
}

func (s *server) used(key string) {
	s.order = append(slices.DeleteFunc(s.order, func(k string) bool { return k == key }), key)
}

func (s *server) evaluate(ctx context.Context, in *wire.Evaluate, parts [][]byte) (found *wire.Findings, notLoaded bool, err error) {
	if s.input != in.Input {
		s.input, s.members = in.Input, map[string]*ast.Term{}
	}
	if len(in.Send) != len(parts) {
		return nil, false, errors.New("the request has other parts than it says. This is a bug in Yuba")
	}
	for i, name := range in.Send {
		value, err := parseValue(parts[i])
		if err != nil {
			return nil, false, fmt.Errorf("read input.%s: %w", name, err)
		}
		parts[i] = nil
		s.members[name] = ast.NewTerm(value)
	}
	key := keyOf(in.Digest, in.Package)
	b := s.bundles[key]
	if b == nil {
		return nil, true, nil
	}
	s.used(key)
	input := ast.NewObject()
	for _, name := range in.Use {
		member := s.members[name]
		if member == nil {
			return nil, false, fmt.Errorf("the input %q was not sent. This is a bug in Yuba", name)
		}
		input.Insert(ast.StringTerm(name), member)
	}
	found, err = b.evaluate(ctx, input, in.Now, in.Timeout)
	return found, false, err
}
