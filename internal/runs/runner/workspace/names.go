// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

// Names of what the runner keeps in a stack's directory.
const (
	ShellBin  = "bin"
	ShellHome = "shell"

	NewSourceDir = "src.new"
	manifestName = "manifest.json"

	// GivenDir holds what tofu is given and the program must not change; givenPlan is the plan that is shown and applied,
	// givenNow one that it is compared with.
	GivenDir  = "given"
	GivenPlan = GivenDir + "/" + PlanName
	GivenNow  = GivenDir + "/now"

	// CLIConfigName is beside, not in, what tofu can write.
	CLIConfigName = "tofu.rc"
	// SettingsName is the file that completes the backend's configuration, for as long as init runs.
	SettingsName = GivenDir + "/settings.tfbackend"
	// SelectedName is where the tool remembers which workspace is selected. A person's shell may have selected another one.
	SelectedName = DataDirTF + "/environment"
	// TempPrefix is short because providers listen on sockets below it, whose paths are limited to 108 bytes.
	TempPrefix = "/tmp/yuba-"

	ProvidersTF = DataDirTF + "/providers/"
	ModulesTF   = DataDirTF + "/modules"
	ManifestTF  = ModulesTF + "/modules.json"
)
