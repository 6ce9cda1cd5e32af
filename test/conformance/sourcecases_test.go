// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var sources = []behaviour{
	// Upstream: an archive that cannot be unpacked is an artifact failure. A good archive fixes it.
	{"000011_bad_tar_gz", func(w *world) {
		url, digest := w.outside.archive([]byte("this is no archive"))
		w.publishArtifact(infrav1.SourceKindGitRepository, "program", &meta.Artifact{URL: url, Digest: digest, Revision: first})
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it says that the artifact is bad", failed("ArtifactFailed"))
		w.git(second, hello)
		w.await("hello", "it is applied", applied(secondPlan))
	}},
	// Upstream checks the size of an archive but not its digest. Fixed: Yuba refuses an archive
	// that does not match the source.
	{"000011_wrong_digest", func(w *world) {
		url, _ := w.outside.archive(hello.pack(w.T))
		w.publishArtifact(infrav1.SourceKindGitRepository, "program", &meta.Artifact{URL: url, Revision: first,
			Digest: "sha256:" + strings.Repeat("0", 64)})
		w.stack("hello", "approvePlan: auto")
		w.await("hello", "it says that the artifact is another", failed("ArtifactFailed"))
	}},
	// Upstream: the id of a Bucket's plan contains the first ten digits of its revision.
	{"000012_src_bucket", func(w *world) {
		w.publish(infrav1.SourceKindBucket, "programs", "822c3dd335579b435b5ada924d6f38b227412a5c", hello)
		w.stack("hello", "{approvePlan: auto, sourceRef: {kind: Bucket, name: programs}}")
		s := w.await("hello", "it is applied", applied("plan-822c3dd335"))
		same(w, "available outputs", []string{"hello_world"}, s.Status.AvailableOutputs)
	}},
	// Upstream: the id of an OCIRepository's plan contains tag and digest.
	{"000012_src_ocirepository", func(w *world) {
		const revision = "v4.38.0-v1alpha11@sha256:6033f3b9fb6458dda7f432ea5ce1a8dbb9560c2388d612f0d1036ba03cf2e063"
		w.publish(infrav1.SourceKindOCIRepository, "programs", revision, hello)
		w.stack("hello", "{approvePlan: auto, sourceRef: {kind: OCIRepository, name: programs}}")
		s := w.await("hello", "it is applied", applied("plan-v4.38.0-v1alpha11-6033f3b9fb"))
		same(w, "available outputs", []string{"hello_world"}, s.Status.AvailableOutputs)
	}},
	// Upstream: ExternalArtifact is not supported as a source. Yuba supports it.
	{"000012_src_externalartifact", func(w *world) {
		w.publish(infrav1.SourceKindExternalArtifact, "programs", "latest@sha256:6033f3b9fb6458dda7f432ea5ce1a8dbb9560c2388d612f0d1036ba03cf2e063", hello)
		w.stack("hello", "{approvePlan: auto, sourceRef: {kind: ExternalArtifact, name: programs}}")
		w.await("hello", "it is applied", applied("plan-latest-6033f3b9fb"))
	}},
	// Upstream (disabled, because such an object could never be deleted): a missing source is an
	// artifact failure. Here the stack is deleted at the end; in another case the source is
	// created.
	{"000013_source_not_found", func(w *world) {
		w.stack("hello", "approvePlan: auto")
		s := w.await("hello", "it misses its source", failed("ArtifactFailed"))
		mentions(w, "Ready", told(s, "Ready"), "could not get Source object: ", "program", "not found")
		mentions(w, "Stalled", told(s, "Stalled"), "True ArtifactFailed: ")
		w.deleteStack("hello")
		w.awaitGone("hello")
	}},
	// Upstream: a source without an artifact is not ready. Yuba continues as soon as it has one.
	{"000014_artifact_not_found", func(w *world) {
		w.source(infrav1.SourceKindGitRepository, "program")
		w.stack("hello", "{approvePlan: auto, retryInterval: 1h}")
		s := w.await("hello", "it misses its artifact", failed("ArtifactFailed"))
		same(w, "Ready", "False ArtifactFailed: Source is not ready, artifact not found", told(s, "Ready"))
		w.git(first, hello)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: a source in another namespace is refused.
	{"000015_source_cross_ns_denied", func(w *world) {
		w.stack("hello", "{approvePlan: auto, sourceRef: {kind: GitRepository, namespace: other-ns, name: program}}")
		s := w.await("hello", "it may not use its source", failed("AccessDenied"))
		same(w, "Ready", "False AccessDenied: cannot access GitRepository/other-ns/program, cross-namespace references have been disabled", told(s, "Ready"))
	}},
	// Upstream: a unit test asserts that a missing source is a NotFound error. Here the stack
	// waits, and continues automatically when the source is created.
	{"000191_missing_source", func(w *world) {
		w.stack("hello", "{approvePlan: auto, retryInterval: 1h}")
		w.await("hello", "it misses its source", failed("ArtifactFailed"))
		w.git(first, hello)
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: a unit test asserts that an unknown kind of source is an error. Here the API
	// refuses it.
	{"000190_unsupported_source", func(w *world) {
		obj := w.manifest("hello", "sourceRef: {kind: HelmChart, name: program}")
		if err := w.client.Create(w.Context(), obj); err == nil {
			w.Error("an object whose source is a HelmChart was accepted")
		}
	}},
	// Upstream: path is a directory of the archive, with or without "./".
	{"path_in_the_source", func(w *world) {
		w.git(first, program{"infra/hello/main.tf": hello["main.tf"], "main.tf": "this is no program"})
		w.stack("hello", "{approvePlan: auto, path: ./infra/hello}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.stack("lost", "{approvePlan: auto, path: infra/lost}")
		s := w.await("lost", "it says that there is no such directory", failed("ArtifactFailed"))
		mentions(w, "Ready", told(s, "Ready"), "infra/lost")
	}},
}
