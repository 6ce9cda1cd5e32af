// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout knows where a registry keeps what in its bucket. The layout is that of
// boring-registry (https://github.com/boring-registry/boring-registry), so that both can use one
// bucket:
//
//	modules/NAMESPACE/NAME/SYSTEM/NAMESPACE-NAME-SYSTEM-VERSION.tar.gz
//	providers/NAMESPACE/signing-keys.json
//	providers/NAMESPACE/NAME/terraform-provider-NAME_VERSION_{OS_ARCH.zip,SHA256SUMS,SHA256SUMS.sig}
//	mirror/providers/HOST/NAMESPACE/NAME/…          as providers
//
// Yuba's own objects are below yuba/, where boring-registry does not look:
//
//	yuba/modules/NAMESPACE/NAME/SYSTEM/VERSION.json what the registry knows of a version
//	yuba/providers/…, yuba/mirror/…, yuba/tools/…   likewise
//
// Invariants:
//
//   - A parsed name is safe in a path, a URL and a header: no dots at the beginning, no slashes, no
//     characters outside ASCII.
//   - A name has one key, and a key of this layout has one name.
//
// The package is pure: it neither reads nor writes.
package layout
