// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// maxPages ends lists of forges that link their pages in a circle.
const maxPages = 200

// List fetches the pages of a list, following the header Link, until it ends or keep says that it has enough.
func List[T any](ctx context.Context, c *Client, call Call, keep func(T) bool) (complete bool, err error) {
	for range maxPages {
		var page []T
		call.Out = &page
		header, err := c.Do(ctx, call)
		if err != nil {
			return false, err
		}
		for _, item := range page {
			if !keep(item) {
				return false, nil
			}
		}
		next := Next(header)
		if next == "" {
			return true, nil
		}
		call.Path, call.Query = next, nil
	}
	return false, c.endless(call)
}

// Pages fetches the pages of a list whose body says where the next one is: turn returns its call, or false at the end.
func Pages[T any](ctx context.Context, c *Client, call Call, turn func(page T, call Call) (Call, bool)) error {
	for range maxPages {
		var page T
		call.Out = &page
		if _, err := c.Do(ctx, call); err != nil {
			return err
		}
		var more bool
		if call, more = turn(page, call); !more {
			return nil
		}
	}
	return c.endless(call)
}

func (c *Client) endless(call Call) error {
	return &forge.RefusedError{Doing: c.doing(call), Reason: fmt.Sprintf("the list has more than %d pages", maxPages)}
}

// Next is the address of the next page in the header Link.
func Next(header http.Header) string {
	for _, value := range header.Values("Link") {
		for link := range strings.SplitSeq(value, ",") {
			address, parameters, _ := strings.Cut(link, ">")
			address = strings.TrimSpace(address)
			if strings.HasPrefix(address, "<") && strings.Contains(parameters, `rel="next"`) {
				return address[1:]
			}
		}
	}
	return ""
}
