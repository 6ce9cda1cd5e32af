// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry serves the registry's protocols: service discovery, modules.v1, providers.v1, the
// network mirror, login.v1, and providers.v1 of other registries through the mirror.
//
//	/.well-known/terraform.json
//	/v1/modules/NAMESPACE/NAME/SYSTEM/{versions,VERSION/download}
//	/v1/modules/contracts/NAME/publish/…                        as /v1/modules, made from Contracts
//	/v1/providers/NAMESPACE/NAME/{versions,VERSION/download/OS/ARCH}
//	/v1/mirror/HOST/NAMESPACE/NAME/{index.json,VERSION.json}
//	/v1/upstream/HOST/NAMESPACE/NAME/…                          as /v1/providers
//	/oauth/{authorize,token}
//	/apis/content.yuba.dev/v1alpha1/{modules,providers,mirror}  the management API, see [Manager]
//
// Nouns:
//
//   - An [Identity] is who asks. [Access] finds it by a bearer token, and says what it may do.
//   - A signed path is the path of a file with an expiry and a signature. Whoever has it may read the
//     file until then: the tools do not send their token when they download archives.
//
// Invariants:
//
//   - Every answer is authorised for the namespace that it is about: verb get on
//     modules, providers or mirror with the namespace (of mirrored providers: the host) as name. The
//     module of a contract is for stacks that may consume it, and for whoever may get the object.
//   - Links between answers are relative, so they lead through whatever proxy the first request came.
//   - A token is never logged, and never part of a URL.
//   - Nothing here lists a bucket.
package registry
