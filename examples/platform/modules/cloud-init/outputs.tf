output "nodes" {
  value       = local.nodes
  description = "Name, role, subnet and private address of each machine; first is true for the one that starts the cluster."
}

output "user_data" {
  value       = local.user_data
  sensitive   = true
  description = "Cloud-config of each machine, by its name."

  precondition {
    condition     = alltrue([for text in values(local.user_data) : length(text) <= 16384])
    error_message = "The cloud-config of a machine has more than 16 KiB, which AWS does not take. Use fewer SSH keys, labels or names."
  }
  precondition {
    condition     = !var.air_gap || var.kubernetes.binary_url != null && !can(regex("^https://github\\.com/", coalesce(var.kubernetes.binary_url, "-")))
    error_message = "The machines would download k3s from the Internet, and air_gap is true. Set kubernetes.binary_url to a server inside with the files of the release, or to \"\" if the image has k3s."
  }
}
