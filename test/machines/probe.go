// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// probe is the program of the image localhost/probe:1, with which tests prove the network of Pods: "serve ADDRESS TEXT" and "get URL".
// Debian's busybox crashes when it resolves names, as it is linked statically with glibc.
func probe(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		server := &http.Server{Addr: args[1], ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, args[2]) //nolint:errcheck // the client is gone
		})}
		return server.ListenAndServe()
	case len(args) == 2 && args[0] == "get":
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil)
		if err != nil {
			return err
		}
		answer, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close() //nolint:errcheck // it is only read
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", args[1], answer.Status)
		}
		_, err = io.Copy(os.Stdout, answer.Body)
		return err
	}
	return errors.New("want serve ADDRESS TEXT, or get URL")
}
