// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

const (
	// patience is the timeout for operations that normally take a second or two: the machine may be
	// busy.
	patience = 2 * time.Minute
	// runTimeout is the time limit of a tofu process; the slow cases use all of it.
	runTimeout = 10 * time.Second
)

// world is a running Yuba with a server of archives.
type world struct {
	dir     string
	cmd     *exec.Cmd
	log     proctest.Log
	client  client.Client
	content *content.Client
	archive *httptest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	// Many stacks that fail for the same reason must not count as an outage here.
	w.cmd = exec.Command(filepath.Join(programs, "yuba"), "up", "--data-dir", w.dir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0",
		"--tofu", tofutest.Tofu(t), "--provider-mirror", t.TempDir(), "--run-timeout", runTimeout.String(), "--outage-stacks", "0")
	if err := proctest.Start(w.cmd, "Yuba is ready", &w.log, patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.cmd.Process.Kill() //nolint:errcheck // it may be gone already
		w.cmd.Wait()         //nolint:errcheck // killed, of course
		if err := proctest.End(w.dir); err != nil {
			t.Error(err)
		}
	})
	config, err := kubetest.Config(filepath.Join(w.dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if w.client, err = client.New(config, client.Options{Scheme: kubetest.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if w.content, err = content.NewClient(config); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bad-"}}
	if err := w.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// serve serves the archives of the cases by name.
func (w *world) serve(t *testing.T, cases []*badInput) {
	t.Helper()
	handlers := http.NewServeMux()
	for _, b := range cases {
		if b.archive == nil {
			continue
		}
		answer := b.archive.answer
		if answer == nil {
			answer = func(rw http.ResponseWriter, _ *http.Request) {
				rw.Write(b.archive.data) //nolint:errcheck // the server reports a failed read
			}
		}
		handlers.HandleFunc("/"+b.Name, answer)
	}
	w.archive = httptest.NewServer(handlers)
	t.Cleanup(w.archive.Close)
}

// publish creates the source of a case, whose status names the archive.
func (w *world) publish(ctx context.Context, namespace string, b *badInput) error {
	digest := b.archive.digest
	if digest == "" {
		digest = digestOf(b.archive.data)
	}
	obj := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.Name}}
	if err := w.client.Create(ctx, obj); err != nil {
		return err
	}
	obj.Status = sourcev1.ExternalArtifactStatus{
		Artifact: &meta.Artifact{Path: b.Name, URL: w.archive.URL + "/" + b.Name, Revision: "main@" + digestOf([]byte(b.Name)), Digest: digest, LastUpdateTime: metav1.Now()},
		Conditions: []metav1.Condition{{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: meta.SucceededReason, Message: "stored",
			LastTransitionTime: metav1.Now()}}}
	return w.client.Status().Update(ctx, obj)
}

// eventually retries until ask returns no error, and returns the last error on timeout.
func eventually(ctx context.Context, within time.Duration, ask func() error) error {
	tick, deadline := time.NewTicker(200*time.Millisecond), time.Now().Add(within)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		<-tick.C
	}
}

// leftBehind are processes other than the server and its runner.
func (w *world) leftBehind() []proctest.Process {
	return proctest.Matching(func(p proctest.Process) bool {
		ours := strings.Contains(p.Dir, w.dir) || strings.Contains(p.Line, w.dir)
		return p.PID != w.cmd.Process.Pid && (ours && p.Program != "yuba-runner" || strings.Contains(p.Line, hanging))
	})
}

// hanging is part of the command line of processes that cases leave behind.
const hanging = "sleep\x004242"

// quiet reports leftovers of runs when no run is active.
func (w *world) quiet(ctx context.Context, namespace string) error {
	queue, err := w.content.Queue(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, item := range queue.Items {
		if item.Namespace == namespace {
			found = append(found, fmt.Sprintf("a place is taken by %s of %s", item.Run, item.Name))
		}
	}
	for _, p := range w.leftBehind() {
		found = append(found, "there is the process "+p.String())
	}
	if len(found) > 0 {
		return errors.New(strings.Join(found, "\n"))
	}
	return nil
}
