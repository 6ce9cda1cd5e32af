// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/s3test"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// traveller is a stack whose state moves.
type traveller struct {
	*tenanttest.Home
	programs string
}

// command runs a command that must succeed and must not print a credential.
func (m traveller) command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), filepath.Join(m.programs, "yuba"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+m.Kubeconfig)
	var news strings.Builder
	cmd.Stderr = &news
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("yuba %s: %v\n%s%s\nServer:\n%s", strings.Join(args, " "), err, out, news.String(), m.Log())
	}
	if said := string(out) + news.String(); strings.Contains(said, shared.postgres.Password) || strings.Contains(said, s3test.SecretKey) {
		t.Errorf("a credential is shown:\n%s", said)
	}
	return string(out)
}

// at waits until the stack is ready with its state at this type of backend.
func (m traveller) at(t *testing.T, kind string) {
	t.Helper()
	m.Eventually(t, "the stack is ready at "+kind, func() string {
		var o infrav1.Terraform
		m.Get(t, "traveller", &o)
		ready := apimeta.FindStatusCondition(o.Status.Conditions, infrav1.ConditionReady)
		is := "yuba"
		if o.Status.Backend != nil {
			is = o.Status.Backend.Location
		}
		if ready == nil || ready.Status != metav1.ConditionTrue || o.Status.ObservedGeneration != o.Generation || o.Status.CurrentRun != nil ||
			is != kind && !strings.HasPrefix(is, kind+" ") {
			return fmt.Sprintf("at %s, %+v", is, ready)
		}
		return ""
	})
}

// pulled is the state as the stack's own commands read it.
func (m traveller) pulled(t *testing.T) (lineage string, serial int, content any) {
	t.Helper()
	var s struct {
		Lineage            string
		Serial             int
		Outputs, Resources any
	}
	text := m.command(t, "shell", m.Namespace+"/traveller", "--", "tofu", "state", "pull")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Lineage, s.Serial, []any{s.Outputs, s.Resources}
}

// TestAStateTravelsBetweenRealBackends: from Yuba's store to S3 with its lock file, to PostgreSQL, and back.
func TestAStateTravelsBetweenRealBackends(t *testing.T) {
	pg, s3 := postgres(t), s3test.New(t, "states")
	programs := filepath.Join(tofutest.RepositoryRoot(t), "bin")
	m := traveller{tenanttest.Launch(t, programs), programs}
	conn := url.URL{Scheme: "postgres", User: url.UserPassword(pg.Username, pg.Password), Host: fmt.Sprintf("%s:%d", pg.Host, pg.Port), Path: "/" + pg.Database, RawQuery: "sslmode=disable"}
	for name, data := range map[string]map[string]string{
		"s3": {"access_key": s3test.AccessKey, "secret_key": s3test.SecretKey},
		"pg": {"conn_str": conn.String()},
	} {
		if err := m.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: name}, StringData: data}); err != nil {
			t.Fatal(err)
		}
	}
	m.Apply(t, `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: traveller}
spec:
  interval: 1h
  approvePlan: auto
  inline:
    main.tf: |
      resource "terraform_data" "each" {
        for_each = toset(["a", "b", "c"])
        input    = { name = each.key, list = [1, 2.5, null], text = "ü \" $${x}" }
      }
      output "ids" { value = { for k, v in terraform_data.each : k => v.id } }
      output "secret" {
        value     = "s"
        sensitive = true
      }
`)
	m.at(t, "yuba")
	stack := m.Namespace + "/traveller"
	lineage, serial, content := m.pulled(t)
	for _, leg := range []struct {
		kind string
		args []string
	}{
		{"s3", []string{"--settings-from", "Secret/s3", "--set", "bucket=states", "--set", "key=a/vpc.tfstate", "--set", "use_lockfile=true", "--set", "region=" + s3test.Region,
			"--set", "endpoints.s3=" + s3.URL, "--set", "use_path_style=true", "--set", "skip_credentials_validation=true", "--set", "skip_requesting_account_id=true",
			"--set", "skip_metadata_api_check=true"}},
		{"pg", []string{"--settings-from", "Secret/pg", "--set", "schema_name=vpc"}},
		{"yuba", nil},
	} {
		m.command(t, append([]string{"state", "migrate", stack, "--yes", "--to", leg.kind}, leg.args...)...)
		m.at(t, leg.kind)
		now, newer, is := m.pulled(t)
		if diff := cmp.Diff(content, is); diff != "" || now != lineage || newer <= serial {
			t.Errorf("at %s: lineage %s, was %s; serial %d after %d (-want +got):\n%s", leg.kind, now, lineage, newer, serial, diff)
		}
		serial = newer
	}
	if len(s3.Object(t, "a/vpc.tfstate")) == 0 {
		t.Error("the former copy in S3 is gone")
	}
	if lock := s3.Object(t, "a/vpc.tfstate.tflock"); lock != nil {
		t.Errorf("the lock file is left: %s", lock)
	}
	var locks int
	if err := pg.DB.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").Scan(&locks); err != nil || locks > 0 {
		t.Errorf("%d locks are left in PostgreSQL (%v)", locks, err)
	}
}
