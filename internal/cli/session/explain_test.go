// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

func TestExplain(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://127.0.0.1:7443/apis/x?y=z", Err: syscall.ECONNREFUSED}
	cluster := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/apis/x", Err: syscall.ECONNREFUSED}
	untrusted := &url.Error{Op: "Get", URL: "https://registry.example.com/apis/x", Err: x509.UnknownAuthorityError{}}
	cases := map[string]struct {
		err  error
		text string
		code int
	}{
		"an unknown authority: the flag":             {fmt.Errorf("list: %w", untrusted), "x509: certificate signed by unknown authority\nName a file", 1},
		"an error of no kind is told as it is":       {errors.New("the disk is full"), "the disk is full", 1},
		"a code that was chosen stays when wrapped":  {fmt.Errorf("deploy: %w", ui.Exitf(ui.ExitRunFailed, "run failed")), "deploy: run failed", 4},
		"a command line is wrong":                    {ui.UsageErrorf(&cobra.Command{Use: "yuba"}, "--x"), "yuba --help", 2},
		"what does not exist has its own code":       {fmt.Errorf("get a/b: %w", apierrors.NewNotFound(schema.GroupResource{}, "b")), "get a/b", 3},
		"a timeout is not a failure":                 {fmt.Errorf("x: %w", context.DeadlineExceeded), "x: timed out", 5},
		"a timeout of nothing in particular":         {context.DeadlineExceeded, "timed out", 5},
		"Ctrl-C is told as such":                     {context.Canceled, "interrupted", 130},
		"nobody answers: the address and what to do": {fmt.Errorf("list: %w", refused), "https://127.0.0.1:7443 refused the connection. Is Yuba", 1},
		"a cluster does not answer: what to check":   {fmt.Errorf("list: %w", cluster), "https://10.0.0.1:6443 refused the connection. Check that its API server", 1},
		"a command for clusters: what to check":      {ExplainCluster("start", refused), "start: https://127.0.0.1:7443 refused the connection. Check that the cluster's", 1},
		"another error of a cluster stays":           {ExplainCluster("start", errors.New("the disk is full")), "the disk is full", 1},
		"nothing is configured: what to do":          {clientcmd.ErrEmptyConfig, "yuba up", 1},
		"credentials are not known: how to look":     {apierrors.NewUnauthorized("no"), "config view", 1},
		"a refused data directory has its own code":  {fmt.Errorf("start: %w", &datadir.RefusedError{Dir: "/d", Problem: "etcd/ has no store"}), "Nothing was changed", 6},
		"a newer data directory has it, too":         {&datadir.NewerFormatError{What: "/d", Found: 9}, "A newer Yuba wrote it", 6},
		"final newlines of other people's errors go": {errors.New("x\n\n"), "x", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			text, code := Explain(c.err)
			if code != c.code || !strings.Contains(text, c.text) || strings.HasSuffix(text, "\n") {
				t.Errorf("got %d %q, want %d %q", code, text, c.code, c.text)
			}
		})
	}
}

// A command without --timeout, such as "yuba up", must not name it, and none hides what was waited for.
func TestATimeoutNamesTheFlagOfItsCommand(t *testing.T) {
	err := fmt.Errorf("wait for etcd: %w", context.DeadlineExceeded)
	without, with := &cobra.Command{Use: "up"}, &cobra.Command{Use: "plan"}
	ui.AddTimeoutFlag(with, 0, "maximum time to wait")
	for _, c := range []struct {
		cmd  *cobra.Command
		err  error
		text string
	}{
		{without, err, "wait for etcd: timed out"},
		{with, err, "wait for etcd: timed out\nTo wait longer, set a longer --timeout."},
		{with, ui.Exitf(ui.ExitWaiting, "not ready: %w", err), "not ready: wait for etcd: context deadline exceeded"},
		{with, errors.New("the disk is full"), "the disk is full"},
	} {
		if text, _ := ExplainOf(c.cmd, c.err); text != c.text {
			t.Errorf("%s: got %q, want %q", c.cmd.Use, text, c.text)
		}
	}
}
