// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8srand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/clientcmd"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// slowRate is that of a slow connection, in bytes a second.
const slowRate = 600_000

// slowly returns a kubeconfig of the cluster behind a slow connection.
func slowly(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(*kubeconfig)
	must(t, err)
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			go carry(here, server.Host)
		}
	}()
	cluster.Server, cluster.TLSServerName = "https://"+l.Addr().String(), server.Hostname()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

// carry connects two ends.
func carry(here net.Conn, address string) {
	defer here.Close() //nolint:errcheck // one of both ends has closed it
	there, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer there.Close() //nolint:errcheck // as above
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{here: there, there: here} {
		both.Go(func() {
			for {
				began := time.Now()
				n, err := io.CopyN(to, from, 32<<10)
				if err != nil {
					_ = to.Close() // the other direction ends, too
					return
				}
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / slowRate)))
			}
		})
	}
	both.Wait()
}

// A history whose transfer takes longer than the API server allows a request moves all the same.
func TestALongHistoryMovesOverASlowConnection(t *testing.T) {
	name := "move-" + k8srand.String(6)
	machine, cluster := newEmbedded(t, name), newMover(t, name, *kubeconfig)
	must(t, machine.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	machine.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, StringData: map[string]string{"name": "world"}})
	machine.deploy("large", func(s *infrav1.TerraformSpec) { s.ApprovePlan = infrav1.ApprovePlanAuto })
	machine.await("large", "it is applied", applied)
	machine.edit("large", func(s *infrav1.TerraformSpec) { s.Suspend = true })
	const versions, size = 7, 6 << 20
	for range versions {
		machine.enlarge("large", size)
	}
	before := machine.history("large")

	began := time.Now()
	slow := newMover(t, name, slowly(t))
	passes := machine.moveTo(slow)
	t.Cleanup(func() { removeTeam(t, name) })
	took := time.Since(began)
	t.Logf("%d versions of %d MB moved to the cluster in %s", versions, size>>20, took.Round(time.Second))
	if minimum := time.Duration(versions*size/slowRate) * time.Second; took < minimum {
		t.Errorf("it took only %s: the connection is not slow", took)
	}
	if diff := cmp.Diff(map[string]string{"large": steps.PassSuspended}, passes); diff != "" {
		t.Errorf("first passes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, cluster.history("large")); diff != "" {
		t.Errorf("its history differs:\n%.2000s", diff)
	}
	began = time.Now()
	back := newEmbedded(t, name)
	slow.moveTo(back)
	t.Logf("and to another machine in %s", time.Since(began).Round(time.Second))
	if diff := cmp.Diff(before, back.history("large")); diff != "" {
		t.Errorf("its history differs on the way back:\n%.2000s", diff)
	}
}

// enlarge pushes a state with an output that cannot be compressed below this size.
func (m *mover) enlarge(name string, size int) {
	m.t.Helper()
	ctx := m.t.Context()
	text, err := m.body.State(ctx, m.name, name, "")
	must(m.t, err)
	var state map[string]any
	must(m.t, json.Unmarshal(text, &state))
	random := make([]byte, size)
	rand.Read(random) //nolint:errcheck // never fails, see its documentation
	state["serial"] = state["serial"].(float64) + 1
	state["outputs"] = map[string]any{"large": map[string]any{"type": "string", "value": base64.StdEncoding.EncodeToString(random)}}
	text, err = json.Marshal(state)
	must(m.t, err)
	rec, err := m.body.Change(ctx, m.name, name, run.StateChange{Verb: run.StatePush, State: text}, "")
	must(m.t, err)
	eventually(m.t, name+": its state is pushed", func() string {
		now, err := m.body.Run(ctx, m.name, name, rec.Spec.ID)
		must(m.t, err)
		if now.Result == nil {
			return "run " + rec.Spec.ID + " has not ended"
		}
		if now.Result.Outcome != run.OutcomeSucceeded {
			m.t.Fatalf("%+v", now.Result)
		}
		return ""
	})
}
