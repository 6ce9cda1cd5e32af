// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"filippo.io/age"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// BenchmarkAThousandStacksOfOneSource measures proving without the API: the first pass, which reads
// the source, the pass after a commit to one stack, and later passes.
func BenchmarkAThousandStacksOfOneSource(b *testing.B) {
	for _, n := range []int{100, 1000, 3000} {
		store, objects := fleet(b, n)
		digests := commits(b, store, n)
		b.Run(fmt.Sprintf("%d/new commit", n), func(b *testing.B) {
			for i := range b.N {
				prove(b, &Sources{Store: store, MaxArchive: 1 << 30}, objects, digests[i%len(digests)])
			}
		})
		b.Run(fmt.Sprintf("%d/next commit", n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				sources := &Sources{Store: store, MaxArchive: 1 << 30}
				prove(b, sources, objects, digests[0])
				b.StartTimer()
				prove(b, sources, objects, digests[1])
			}
		})
		b.Run(fmt.Sprintf("%d/proven", n), func(b *testing.B) {
			sources := &Sources{Store: store, MaxArchive: 1 << 30}
			prove(b, sources, objects, digests[0])
			for b.Loop() {
				prove(b, sources, objects, digests[0])
			}
		})
	}
}

// TestEachCommitIsReadOnce: a thousand stacks share one opening of their archive.
func TestEachCommitIsReadOnce(t *testing.T) {
	store, objects := fleet(t, 50)
	opened := &countingStore{ArtifactStore: store}
	sources := &Sources{Store: opened, MaxArchive: 1 << 30}
	digests := commits(t, store, 50)
	first := prove(t, sources, objects, digests[0])
	second := prove(t, sources, objects, digests[1])
	if opened.n != 2 {
		t.Errorf("two archives were opened %d times", opened.n)
	}
	moved := 0
	for i := range first {
		if first[i] != second[i] {
			moved++
		}
	}
	if moved != 1 {
		t.Errorf("a commit to one of 50 stacks changes %d", moved)
	}
}

// countingStore counts how often archives are opened.
type countingStore struct {
	ArtifactStore
	n int
}

// OpenArtifact opens an archive.
func (s *countingStore) OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error) {
	s.n++
	return s.ArtifactStore.OpenArtifact(ctx, digest)
}

func fleet(t testing.TB, n int) (*blob.Store, []*infrav1.Terraform) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open(t.Context(), "file://"+t.TempDir(), identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var objects []*infrav1.Terraform
	for i := range n {
		objects = append(objects, stackObject(func(o *infrav1.Terraform) { o.Name, o.Spec.Path = fmt.Sprint("s", i), fmt.Sprintf("./stacks/s%d", i) }))
	}
	return store, objects
}

// commits are archives of a source of n stacks: the second changes one of them.
func commits(t testing.TB, store *blob.Store, n int) []string {
	t.Helper()
	files := map[string]string{"modules/m/main.tf": "variable \"n\" {}\nresource \"terraform_data\" \"m\" { input = var.n }\n"}
	for i := range n {
		files[fmt.Sprintf("stacks/s%d/main.tf", i)] = fmt.Sprintf("variable \"size\" {\n  type = number\n}\nmodule \"m\" {\n  source = \"../../modules/m\"\n  n = var.size + %d\n}\noutput \"o\" { value = 1 }\n", i)
	}
	var digests []string
	for range 2 {
		var packed bytes.Buffer
		if _, _, err := archive.Pack(t.Context(), writeTree(t, files), &packed, archive.PackOptions{}); err != nil {
			t.Fatal(err)
		}
		digest, _, err := store.PutArtifact(t.Context(), &packed, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
		files["stacks/s0/main.tf"] += "# another commit\n"
	}
	return digests
}

// prove computes the digest of each stack's configuration.
func prove(t testing.TB, sources *Sources, objects []*infrav1.Terraform, digest string) []string {
	t.Helper()
	var configs []string
	for _, obj := range objects {
		key := moduleKey{digest: digest, dir: CleanDir(obj.Spec.Path)}
		m, err := sources.readModule(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		in := &inputs.Inputs{Variables: map[string]inputs.Variable{"size": {JSON: json.RawMessage(`3`)}}}
		c, err := Configure(obj, &Program{artifact: run.Artifact{Digest: digest, Revision: "r"}, readModule: m}, in)
		if err != nil {
			t.Fatal(err)
		}
		if c.part.digest == "" {
			t.Fatal(c.part.why)
		}
		configs = append(configs, c.Digest)
	}
	return configs
}
