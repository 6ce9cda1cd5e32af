// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tmpdeps holds modules for the work on issue 4 until their users are there.
package tmpdeps

import (
	_ "filippo.io/age"
	_ "github.com/ProtonMail/go-crypto/openpgp"
	_ "github.com/fluxcd/kustomize-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1beta3"
	_ "github.com/fluxcd/pkg/apis/event/v1beta1"
	_ "github.com/fluxcd/pkg/apis/kustomize"
	_ "github.com/fluxcd/pkg/envsubst"
	_ "github.com/fluxcd/pkg/git"
	_ "github.com/fluxcd/pkg/git/gogit"
	_ "github.com/fluxcd/pkg/git/repository"
	_ "github.com/fluxcd/pkg/git/signature"
	_ "github.com/fluxcd/pkg/kustomize"
	_ "github.com/fluxcd/pkg/kustomize/filesys"
	_ "github.com/fluxcd/pkg/oci"
	_ "github.com/fluxcd/pkg/runtime/cel"
	_ "github.com/fluxcd/pkg/runtime/secrets"
	_ "github.com/fluxcd/pkg/runtime/statusreaders"
	_ "github.com/fluxcd/pkg/sourceignore"
	_ "github.com/fluxcd/pkg/ssa"
	_ "github.com/fluxcd/pkg/ssa/normalize"
	_ "github.com/fluxcd/pkg/ssh"
	_ "github.com/fluxcd/pkg/ssh/knownhosts"
	_ "github.com/fluxcd/pkg/tar"
	_ "github.com/fluxcd/pkg/version"
	_ "github.com/getsops/sops/v3/aes"
	_ "github.com/getsops/sops/v3/age"
	_ "github.com/getsops/sops/v3/stores/yaml"
	_ "github.com/google/go-containerregistry/pkg/registry"
	_ "github.com/google/go-containerregistry/pkg/v1/remote"
	_ "github.com/sigstore/sigstore/pkg/signature"
	_ "sigs.k8s.io/kustomize/api/krusty"
)
