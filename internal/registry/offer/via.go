// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package offer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// ErrLoop is wrapped by errors that say that a registry leads back to the mirror that asks it.
var ErrLoop = errors.New("the registry leads back to this mirror")

// maxVia limits how many proxies and mirrors a request may come through.
const maxVia = 20

type viaKey struct{}

// Through notes in a context the proxies and mirrors that a request came through, by its Via headers.
func Through(ctx context.Context, header http.Header) context.Context {
	var via []string
	for _, value := range header.Values("Via") {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one != "" {
				via = append(via, one)
			}
		}
	}
	if len(via) == 0 {
		return ctx
	}
	return context.WithValue(ctx, viaKey{}, via)
}

// Via returns the Via header of a request that name sends on behalf of a context, and ErrLoop if the
// context's request came through name already, or through too many others.
func Via(ctx context.Context, name string) (string, error) {
	via, _ := ctx.Value(viaKey{}).([]string)
	if len(via) >= maxVia || slices.ContainsFunc(via, func(one string) bool {
		fields := strings.Fields(one)
		return len(fields) > 1 && fields[1] == name
	}) {
		return "", ErrLoop
	}
	return strings.Join(append(slices.Clone(via), "1.1 "+name), ", "), nil
}
