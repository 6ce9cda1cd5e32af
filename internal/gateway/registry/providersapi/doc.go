// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package providersapi is the part of the registry's management API that is about providers: those of
// one's own with their signing keys, and the mirror.
//
//	GET    …/providers[/NAMESPACE]                             the providers
//	GET    …/providers/NAMESPACE?provider=NAME[&version=V]     the releases of one, or one of them
//	PUT    …/providers/NAMESPACE?provider=NAME&version=V       publishes; body: a tar archive
//	GET    …/signingkeys/NAMESPACE                             the keys whose signatures are accepted
//	PUT    …/signingkeys/NAMESPACE                             adds one; body: the armoured public key
//	DELETE …/signingkeys/NAMESPACE?key=ID                      removes one
//	GET    …/mirror                                            what the mirror has
//	POST   …/mirror[?unsigned=true]                            imports; body: a tar archive
//	DELETE …/mirror/HOST?provider=NAMESPACE/NAME[&version=V]   removes
//
// The gateway mounts the handlers and authorises every request, see package registry.
package providersapi
