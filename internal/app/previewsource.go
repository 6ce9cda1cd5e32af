// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// previewSources stores the sources of speculative plans. Each has a digest of its own, even if the
// files are those of another source: so it can be removed without asking who else uses it.
type previewSources struct {
	engine         *engine
	programs       *reads.Sources
	direct         client.Reader
	crossNamespace bool
}

// maxUpload limits an uploaded directory, packed. What it unpacks to has the limits of all archives.
const maxUpload = 256 << 20

func (p *previewSources) limits() archive.Limits {
	return archive.Limits{MaxPacked: min(maxUpload, p.engine.opts.limits().ArchiveBytes)}.WithDefaults()
}

// store stores an archive under a digest that no other archive has.
func (p *previewSources) store(ctx context.Context, packed io.Reader) (run.Artifact, error) {
	unique, err := uniqueMember()
	if err != nil {
		return run.Artifact{}, err
	}
	limits := p.limits()
	digest, size, err := p.engine.blobs.PutArtifact(ctx, io.MultiReader(bytes.NewReader(unique), packed), limits.MaxPacked)
	if err != nil {
		return run.Artifact{}, err
	}
	a := run.Artifact{Digest: digest, Size: size, Transient: true}
	if err := p.check(ctx, digest, limits); err != nil {
		return run.Artifact{}, errors.Join(err, p.remove(context.WithoutCancel(ctx), a))
	}
	return a, nil
}

// uniqueMember is an empty gzip member with a random comment. Readers of gzip skip it.
func uniqueMember() ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Comment = rand.Text()
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a gzip header: %w", err)
	}
	return b.Bytes(), nil
}

// check refuses an archive that a runner could not unpack: links out of it, bombs, and what is not an
// archive.
func (p *previewSources) check(ctx context.Context, digest string, limits archive.Limits) error {
	packed, err := p.engine.blobs.OpenArtifact(ctx, digest)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // read only
	_, err = archive.Files(ctx, packed, limits, digest, 0, func(string) bool { return false })
	if err != nil && archive.IsInvalid(err) {
		return content.Invalid(fmt.Errorf("the archive was refused: %w", err))
	}
	return err
}

// remove removes a source, and what was read of it.
func (p *previewSources) remove(ctx context.Context, a run.Artifact) error {
	p.programs.Forget(a.Digest)
	key, err := blob.ArtifactKey(a.Digest)
	if err != nil {
		return err
	}
	return p.engine.blobs.Delete(ctx, key)
}

// uploaded stores an uploaded directory.
func (p *previewSources) uploaded(ctx context.Context, packed io.Reader) (run.Artifact, error) {
	a, err := p.store(ctx, packed)
	a.Revision = "directory"
	return a, err
}

// fullCommit is the full hash of a commit.
var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// revision fetches a commit, a branch, or a reference that begins with refs/, of the GitRepository of
// a stack, with all that its spec says: credentials, signatures, ignored files.
func (p *previewSources) revision(ctx context.Context, obj *infrav1.Terraform, ref string) (run.Artifact, error) {
	repository, err := p.repository(ctx, obj, ref)
	if err != nil {
		return run.Artifact{}, err
	}
	return p.fetch(ctx, repository, ref, nil)
}

// fetch fetches what a GitRepository names, with what it includes. ref is its reference, for errors. instead are the
// digests of artifacts in place of the present ones of included GitRepositories, by their names.
func (p *previewSources) fetch(ctx context.Context, repository *sourcev1.GitRepository, ref string, instead map[string]string) (run.Artifact, error) {
	refused := func(err error) error {
		return &run.RefusedError{Message: fmt.Sprintf("fetch %s of GitRepository %s/%s: %s", ref, repository.Namespace, repository.Name, err)}
	}
	found, err := sources.NewGit(p.direct, p.engine.mirrors).Look(ctx, repository, true)
	if err != nil {
		return run.Artifact{}, refused(err)
	}
	trees := filepath.Join(p.engine.dir.Sources(), "trees")
	if err := os.MkdirAll(trees, 0o700); err != nil {
		return run.Artifact{}, fmt.Errorf("make the directory for a revision: %w", err)
	}
	work, err := os.MkdirTemp(trees, "tree-preview-")
	if err != nil {
		return run.Artifact{}, fmt.Errorf("make the directory for a revision: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // the next start removes what is left
	temp := filepath.Join(work, "tree")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return run.Artifact{}, fmt.Errorf("make the directory for a revision: %w", err)
	}
	if err := found.Fetch(ctx, temp); err != nil {
		return run.Artifact{}, refused(err)
	}
	if err := p.include(ctx, repository, temp, work, instead); err != nil {
		return run.Artifact{}, refused(err)
	}
	limits := p.limits()
	r, w := io.Pipe()
	defer r.Close() //nolint:errcheck // it unblocks the packing, should storing fail
	go func() {
		_, _, err := archive.Pack(ctx, temp, w, archive.PackOptions{MaxPacked: limits.MaxPacked, MaxUnpacked: limits.MaxUnpacked,
			MaxEntries: int(limits.MaxEntries), Upstream: &archive.UpstreamRules{SourceIgnore: true, Ignore: ptr.Deref(repository.Spec.Ignore, "")}})
		w.CloseWithError(err) //nolint:errcheck // never fails, see its documentation
	}()
	a, err := p.store(ctx, r)
	a.Revision = found.Revision
	return a, err
}

// include copies what a GitRepository includes to the tree in dir.
func (p *previewSources) include(ctx context.Context, repository *sourcev1.GitRepository, dir, beside string, instead map[string]string) error {
	var digests []string
	for _, in := range repository.Spec.Include {
		name := in.GitRepositoryRef.Name
		digest := instead[name]
		if digest == "" {
			a, err := p.programs.Artifact(ctx, sourcev1.GitRepositoryKind, types.NamespacedName{Namespace: repository.Namespace, Name: name})
			if err != nil {
				return fmt.Errorf("include GitRepository %s: %w", name, err)
			}
			digest = a.Digest
		}
		digests = append(digests, digest)
	}
	if len(digests) == 0 {
		return nil
	}
	return sources.CopyIncludes(ctx, p.engine.blobs, p.limits(), dir, beside, repository.Spec.Include, digests)
}

// repository returns the GitRepository of a stack as it would be with another reference.
func (p *previewSources) repository(ctx context.Context, obj *infrav1.Terraform, ref string) (*sourcev1.GitRepository, error) {
	source := obj.Spec.SourceRef
	refused := func(format string, args ...any) error {
		return &run.RefusedError{Message: fmt.Sprintf("plan %s/%s at %s: ", obj.Namespace, obj.Name, ref) + fmt.Sprintf(format, args...)}
	}
	if _, inline := obj.InlineProgram(); inline || source == nil || source.Kind != infrav1.SourceKindGitRepository {
		return nil, refused("the stack's source is not a GitRepository, so it has no other revisions. Plan a local directory instead: --dir DIR")
	}
	name := types.NamespacedName{Namespace: obj.SourceNamespace(), Name: source.Name}
	if name.Namespace != obj.Namespace && !p.crossNamespace {
		return nil, refused(infrav1.MessageAccessDenied, source.Kind, name.Namespace, name.Name)
	}
	var repository sourcev1.GitRepository
	if err := p.direct.Get(ctx, name, &repository); apierrors.IsNotFound(err) {
		return nil, refused("the GitRepository %s does not exist", name)
	} else if err != nil {
		return nil, err
	}
	given := repository.Spec.Reference
	repository.Spec.Reference = &sourcev1.GitRepositoryRef{Branch: ref}
	switch {
	case fullCommit.MatchString(ref):
		repository.Spec.Reference = &sourcev1.GitRepositoryRef{Commit: ref}
		if given != nil {
			repository.Spec.Reference.Branch = given.Branch
		}
	case strings.HasPrefix(ref, "refs/"):
		repository.Spec.Reference = &sourcev1.GitRepositoryRef{Name: ref}
	}
	return &repository, nil
}
