// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"context"
	"io"
	"iter"
	"regexp"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Format is the number of this format. A server reads no newer one.
const Format = 1

// The names of members.
const (
	headerName   = "yuba-stack.json"
	lockFileName = "lock.hcl"
	statesDir    = "states"
	artifactsDir = "artifacts"
	runsDir      = "runs"
)

const (
	mib = 1 << 20
	// maxMembers is far above what retention keeps of a stack.
	maxMembers  = 200_000
	maxHeader   = 64 << 10
	maxManifest = 64 * mib
	maxLockFile = 4 * mib
	maxRecord   = 32 * mib
	// maxPart limits other blobs of a run: no plan or log may be larger.
	maxPart = 256 * mib
	// MaxTotal limits a whole parcel. Retention keeps far less of a stack: some dozens of states and
	// runs, and a few archives.
	MaxTotal = 64 << 30
)

// parts are the blobs of a run. The record comes last: a run without one is not listed.
var parts = []string{run.BlobLog, run.BlobPlan, run.BlobPlanJSON, run.BlobPlanText, run.BlobPlanShow, run.BlobPlanOutputs, run.BlobRecord}

// runID is the form of run.NewID.
var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9a-f]{10}$`)

// Header is the first member.
type Header struct {
	Format    int       `json:"format"`
	Version   string    `json:"version,omitempty"`
	Created   time.Time `json:"created"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	// Audit is the end of the stack's audit log in the home that wrote the parcel; nil without records.
	Audit *AuditEnd `json:"audit,omitempty"`
}

// AuditEnd is the end of an audit log: its server, the number of the last record, and its digest.
type AuditEnd struct {
	Server string `json:"server"`
	Number int64  `json:"number"`
	Digest string `json:"digest"`
}

// Summary says what a parcel contained.
type Summary struct {
	// Versions are the ids of state versions, Runs those of runs.
	Versions  []string `json:"versions"`
	Runs      []string `json:"runs"`
	Artifacts int      `json:"artifacts"`
	Bytes     int64    `json:"bytes"`
	// Damaged are members that were not imported: the source could not read them, or nothing proves
	// that the readable forms of a plan belong to it.
	Damaged []string `json:"damaged,omitempty"`
	// Audit is that of the header.
	Audit *AuditEnd `json:"audit,omitempty"`
}

// Blobs is the part of the blob store that parcels use.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader) error
	PutBytes(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	PutArtifact(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	HasArtifact(ctx context.Context, digest string) (bool, error)
	Delete(ctx context.Context, key string) error
}

// States is the part of the state store that parcels use.
type States interface {
	VersionIDs(ctx context.Context, key state.Key) ([]string, error)
	OpenPacked(ctx context.Context, key state.Key, id string) (io.ReadCloser, error)
	CheckPacked(ctx context.Context, key state.Key, id, was string, packed io.Reader) error
	PutPacked(ctx context.Context, key state.Key, id, was string, packed io.Reader) (state.Version, error)
}

// Store is one home's side.
type Store struct {
	Blobs  Blobs
	States States
	// MaxArtifact limits a source archive.
	MaxArtifact int64
	// MaxTotal limits a parcel to import; zero for the constant.
	MaxTotal int64
	Version  string
}

// Subject is the stack.
type Subject struct {
	Stack run.Stack
	// State is nil for a stack with a custom backend.
	State *state.Key
	// Ref is how records name the stack's state, ServiceAccount what the stack's runs act as.
	Ref            run.StateRef
	ServiceAccount string
	// Audiences are those of the tokens that the stack's runs may get.
	Audiences []string
	// Still is called before an import changes anything, and may refuse it; nil for no check.
	Still func(ctx context.Context) error
	// Audit is written into the header.
	Audit *AuditEnd
	// Artifacts are digests of archives that it may need again, besides those of its runs in Needed.
	Artifacts []string
	// Needed are runs whose archives it may need again.
	Needed []string
}
