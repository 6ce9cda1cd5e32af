// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// ArtifactStore is the part of the blob store that sources use.
type ArtifactStore interface {
	PutArtifact(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	HasArtifact(ctx context.Context, digest string) (bool, error)
}

// Sources finds the programs of stacks: archives in the blob store, and what their root modules
// declare. Archives that other controllers serve are fetched once and verified.
type Sources struct {
	Reader client.Reader
	Store  ArtifactStore
	HTTP   *http.Client
	// MaxArchive is the maximum size of a fetched archive, in bytes.
	MaxArchive int64
	// Ours reports whether this server serves the URL, so fetching cannot help; may be nil.
	Ours func(url string) bool
	// Seen caches the metadata of sources of the kinds Watched; nil without a cache.
	Seen    client.Reader
	Watched []string

	packed  packedPrograms
	seen    seenSources
	mu      sync.Mutex
	modules map[moduleKey]*readModule
	order   []moduleKey
	// latest is the module last read at each place, in any archive.
	latest map[moduleKey]moduleKey
	// kept is the size of all modules.
	kept int
	// trees are the indexes of the latest archives.
	trees trees
}

// moduleKey has everything that reading a module depends on.
type moduleKey struct {
	digest, dir string
	// varFiles are paths from the source's root, one a line.
	varFiles string
	// files asks for the module's files to be kept.
	files bool
}

type readModule struct {
	module *module.Module
	diags  diagnostic.List
	// template is the content of main.tf.tpl; nil if there is none.
	template []byte
	// files are the module's own files by name, kept when others are to join them.
	files map[string][]byte
	// varFiles are the files of values that the stack names, as far as the source has them.
	varFiles map[string]varFile
	// part is the relevant part of the source.
	part part
	// declared is the size of its configuration in bytes.
	declared int
}

// size is the approximate memory of a module in bytes.
func (m *readModule) size() int {
	size := len(m.template) + m.declared
	for _, content := range m.files {
		size += len(content)
	}
	return size
}

// varFile is a file of values in the source.
type varFile struct {
	assigned map[string]module.Position
	diags    diagnostic.List
}

// Program is a stack's current source.
type Program struct {
	artifact run.Artifact
	*readModule
}

// Revision is the revision of the source.
func (p *Program) Revision() string { return p.artifact.Revision }

// Template reports whether a template makes the program.
func (p *Program) Template() bool { return p.template != nil }

// Root returns what the root module declares, and what is wrong with it.
func (p *Program) Root() (*module.Module, diagnostic.List) { return p.module, p.diags }

// Variable returns a variable of the root module. known is false if the program cannot tell its
// variables before its inputs are known, because it is a template.
func (p *Program) Variable(name string) (v *module.Variable, known bool) {
	v = p.module.Variables[name]
	return v, v != nil || p.template == nil
}

// SourceError tells users why there is no program.
type SourceError struct {
	Message string
	Denied  bool
	// Lasting is true if the stack or its source must change first; both are watched.
	Lasting bool
	// Revision is the revision of the unusable artifact; empty if there is none.
	Revision string
}

func (e *SourceError) Error() string { return e.Message }

// Find returns the stack's program. The user must fix a *SourceError; other errors are transient.
func (s *Sources) Find(ctx context.Context, obj *infrav1.Terraform, crossNamespace bool) (*Program, error) {
	a, err := s.artifact(ctx, obj, crossNamespace)
	if err != nil {
		return nil, ofRevision(err, a.Revision)
	}
	prog, err := s.FindIn(ctx, obj, a)
	if files, inline := obj.InlineProgram(); err != nil && inline {
		// Storing the inline program again repairs a damaged archive.
		if _, err = s.inline(ctx, files, true); err != nil {
			return nil, err
		}
		return s.FindIn(ctx, obj, a)
	}
	return prog, err
}

// FindIn returns the program that the stack would have in another artifact, which is in the store.
func (s *Sources) FindIn(ctx context.Context, obj *infrav1.Terraform, a run.Artifact) (*Program, error) {
	key := moduleKey{digest: a.Digest, dir: CleanDir(obj.Spec.Path), varFiles: strings.Join(varFilesOf(&obj.Spec), "\n"), files: joinsModule(&obj.Spec)}
	m, err := s.readModule(ctx, key)
	if err != nil {
		return nil, ofRevision(err, a.Revision)
	}
	return &Program{artifact: a, readModule: m}, nil
}

// ofRevision adds the revision of the artifact to the error.
func ofRevision(err error, revision string) error {
	var missing *SourceError
	if !errors.As(err, &missing) {
		return err
	}
	told := *missing
	told.Revision = revision
	return &told
}

// joinsModule reports whether files from Secrets join the root module.
func joinsModule(spec *infrav1.TerraformSpec) bool {
	for _, m := range spec.FileMappings {
		if m.Location == infrav1.FileLocationWorkspace {
			return true
		}
	}
	return false
}

// CleanDir returns a directory of an archive as its index names it: relative, without "..".
func CleanDir(dir string) string {
	return strings.TrimPrefix(path.Clean("/"+dir), "/")
}

func (s *Sources) artifact(ctx context.Context, obj *infrav1.Terraform, crossNamespace bool) (run.Artifact, error) {
	if files, ok := obj.InlineProgram(); ok {
		// A run failed on the archive: it may be damaged.
		return s.inline(ctx, files, conditions.Of(obj, infrav1.ConditionReady).Reason == infrav1.ReasonArtifactFailed)
	}
	ref := obj.ProgramSource()
	if ref == nil {
		return run.Artifact{}, &SourceError{Lasting: true, Message: "The stack has no program: set spec.sourceRef, spec.inline or spec.values.hcl"}
	}
	namespace := obj.SourceNamespace()
	if namespace != obj.Namespace && !crossNamespace {
		return run.Artifact{}, &SourceError{Denied: true,
			Message: fmt.Sprintf(infrav1.MessageAccessDenied, ref.Kind, namespace, ref.Name)}
	}
	name := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	if own := obj.Spec.SourceRef; own != nil && own.Name != ref.Name {
		if err := s.made(ctx, obj.PullRequestHold(), name, types.NamespacedName{Namespace: namespace, Name: own.Name}); err != nil {
			return run.Artifact{}, err
		}
	}
	if atRest(obj) {
		if a, ok := s.unchanged(ctx, ref.Kind, name); ok {
			return s.stored(ctx, ref.Kind, name, &a)
		}
	}
	return s.referenced(ctx, ref.Kind, name)
}

// made refuses a source in place of a stack's own that no planner of pull requests made for it.
func (s *Sources) made(ctx context.Context, h *infrav1.PullRequestHold, name, own types.NamespacedName) error {
	var pin, of sourcev1.GitRepository
	for _, one := range []struct {
		name types.NamespacedName
		into *sourcev1.GitRepository
	}{{name, &pin}, {own, &of}} {
		err := s.Reader.Get(ctx, one.name, one.into)
		if apierrors.IsNotFound(err) {
			return &SourceError{Lasting: true, Message: fmt.Sprintf(infrav1.MessageSourceNotFound, err)}
		}
		if err != nil {
			return fmt.Errorf("get source GitRepository %s: %w", one.name, err)
		}
	}
	commit := ""
	if pin.Spec.Reference != nil {
		commit = pin.Spec.Reference.Commit
	}
	if !h.Made(pin.Labels[infrav1.LabelPullRequest], pin.Spec.URL, commit, of.Spec.URL) {
		return &SourceError{Denied: true, Message: fmt.Sprintf("The annotation %s names the GitRepository %s, which is not one that a planner made for pull request %s of %s. Remove the annotation: the stack then follows its source",
			infrav1.AnnotationPullRequest, name, h.Of, of.Spec.URL)}
	}
	return nil
}

// inline stores the object's program. It stores an existing archive again only if suspect.
func (s *Sources) inline(ctx context.Context, files map[string]string, suspect bool) (run.Artifact, error) {
	key := keyOf(files)
	if known, ok := s.packed.get(key); ok && !suspect {
		if has, err := s.Store.HasArtifact(ctx, known.Digest); err != nil || has {
			return known, err
		}
	}
	var packed bytes.Buffer
	digest, err := archive.PackInline(files, &packed)
	if err != nil {
		return run.Artifact{}, &SourceError{Lasting: true, Message: err.Error()}
	}
	size := int64(packed.Len())
	ok, err := s.Store.HasArtifact(ctx, digest)
	if err != nil {
		return run.Artifact{}, err
	}
	if !ok || suspect {
		if _, _, err = s.Store.PutArtifact(ctx, &packed, s.MaxArchive); err != nil {
			return run.Artifact{}, err
		}
	}
	artifact := run.Artifact{Digest: digest, Revision: "inline@" + digest, Size: size}
	s.packed.put(key, artifact)
	return artifact, nil
}

// sourceObject has the common fields of Flux's sources.
type sourceObject interface {
	client.Object
	GetArtifact() *meta.Artifact
	GetConditions() []metav1.Condition
}

func newSource(kind string) sourceObject {
	switch kind {
	case infrav1.SourceKindGitRepository:
		return &sourcev1.GitRepository{}
	case infrav1.SourceKindBucket:
		return &sourcev1.Bucket{}
	case infrav1.SourceKindOCIRepository:
		return &sourcev1.OCIRepository{}
	case infrav1.SourceKindExternalArtifact:
		return &sourcev1.ExternalArtifact{}
	}
	return nil
}

func (s *Sources) referenced(ctx context.Context, kind string, name types.NamespacedName) (run.Artifact, error) {
	obj := newSource(kind)
	if obj == nil {
		return run.Artifact{}, &SourceError{Lasting: true, Message: fmt.Sprintf("could not get Source object: source of kind %q is not supported", kind)}
	}
	err := s.Reader.Get(ctx, name, obj)
	switch {
	case apimeta.IsNoMatchError(err):
		return run.Artifact{}, &SourceError{Message: fmt.Sprintf(
			"could not get Source object: this API does not serve the kind %s; `yuba push` creates an ExternalArtifact", kind)}
	case apierrors.IsNotFound(err):
		return run.Artifact{}, &SourceError{Lasting: true, Message: fmt.Sprintf(infrav1.MessageSourceNotFound, err)}
	case err != nil:
		return run.Artifact{}, fmt.Errorf("get source %s %s: %w", kind, name, err)
	}
	a := obj.GetArtifact()
	s.seen.note(kind, name, obj, a)
	if a == nil || a.Digest == "" {
		return run.Artifact{}, &SourceError{Message: notReady(kind, name, obj)}
	}
	return s.stored(ctx, kind, name, a)
}

// maxTold bounds the quoted message of a source, in characters.
const maxTold = 1000

// notReady explains why a source has no artifact, if its condition does.
func notReady(kind string, name types.NamespacedName, obj sourceObject) string {
	ready := apimeta.FindStatusCondition(obj.GetConditions(), meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Message == "" {
		return infrav1.MessageSourceNotReady
	}
	return fmt.Sprintf("%s: %s %s says %s: %s", infrav1.MessageSourceNotReady, kind, name, ready.Reason, shorten.Cut(ready.Message, maxTold))
}

// bringBack explains how to restore a lost archive.
func bringBack(kind string, name types.NamespacedName) string {
	word := map[string]string{infrav1.SourceKindGitRepository: "git", infrav1.SourceKindOCIRepository: "oci", infrav1.SourceKindBucket: "bucket"}[kind]
	if word == "" {
		return fmt.Sprintf("Push it again:\n    yuba push %s DIR -n %s", name.Name, name.Namespace)
	}
	return fmt.Sprintf("Fetch the source again:\n    yuba reconcile source %s %s -n %s", word, name.Name, name.Namespace)
}

// stored makes sure that the archive is in the blob store.
func (s *Sources) stored(ctx context.Context, kind string, name types.NamespacedName, a *meta.Artifact) (run.Artifact, error) {
	out := run.Artifact{Digest: a.Digest, Revision: a.Revision}
	if a.Size != nil {
		out.Size = *a.Size
	}
	if _, err := blob.ArtifactKey(a.Digest); err != nil {
		return out, &SourceError{Message: fmt.Sprintf("%s %s: %s", kind, name, err)}
	}
	ok, err := s.Store.HasArtifact(ctx, a.Digest)
	if err != nil {
		return out, err
	}
	if !ok && s.Ours != nil && s.Ours(a.URL) {
		return out, &SourceError{Message: fmt.Sprintf("the archive of %s %s, revision %s, is not in the store. %s", kind, name, a.Revision, bringBack(kind, name))}
	}
	if !ok {
		if out.Size, err = s.fetch(ctx, a); err != nil {
			return out, &SourceError{Message: fmt.Sprintf("fetch the artifact of %s %s from %s: %s", kind, name, a.URL, err)}
		}
	}
	return out, nil
}

// FetchTimeout bounds one download.
const FetchTimeout = 5 * time.Minute

func (s *Sources) fetch(ctx context.Context, a *meta.Artifact) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the server answered %s", resp.Status)
	}
	digest, size, err := s.Store.PutArtifact(ctx, resp.Body, s.MaxArchive)
	if err != nil {
		return 0, err
	}
	// The store names content by its digest, so a wrong archive is never found.
	if digest != a.Digest {
		return 0, fmt.Errorf("its digest is %s instead of %s", digest, a.Digest)
	}
	return size, nil
}
