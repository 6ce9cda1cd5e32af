// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/expression"

	"github.com/google/cel-go/cel"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// filter is an expression about an object's metadata, res, and a hook's body, req.
type filter struct{ expression *expression.Expression }

// newFilter compiles an expression. An empty one is always true.
func newFilter(text string) (filter, error) {
	if text == "" {
		return filter{}, nil
	}
	e, err := expression.New(text, cel.BoolType, "res", "req")
	return filter{e}, err
}

func (f filter) passes(ctx context.Context, object client.Object, body map[string]any) (bool, error) {
	if f.expression == nil {
		return true, nil
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return false, err
	}
	var res map[string]any
	if err := json.Unmarshal(raw, &res); err != nil {
		return false, err
	}
	return f.expression.Bool(ctx, map[string]any{"res": res, "req": body})
}

// readBody returns the body for expressions; empty if it is not JSON.
func readBody(header http.Header, body []byte) (map[string]any, error) {
	content := map[string]any{}
	for _, form := range strings.Split(header.Get("Content-Type"), ",") {
		kind, _, err := mime.ParseMediaType(form)
		if err != nil {
			break
		}
		if kind == "application/json" {
			if json.Unmarshal(body, &content) != nil || content == nil {
				return nil, errors.New("the content type is JSON, but the body is not a JSON object")
			}
			return content, nil
		}
	}
	return content, nil
}
