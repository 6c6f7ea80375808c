"""Certificates for loopback servers: of an authority of our own, one that has ended, and a stranger's."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Extensions = tuple[tuple[x509.ExtensionType, bool], ...]


def write_certificates(folder: Path) -> None:
    """`bundle.pem` is the authority; `good.pem`, `old.pem` and `stranger.pem` each a server's chain and key."""
    root, stranger = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    own = x509.SubjectKeyIdentifier.from_public_key(root.public_key())
    is_one: Extensions = ((x509.BasicConstraints(True, None), True), (usage, True), (own, False))
    (folder / "bundle.pem").write_bytes(_made("root", root, root, 24, is_one))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("models.test")])
    for name, signer, hours in (("good", root, 24), ("old", root, -1), ("stranger", stranger, 24)):
        leaf = ec.generate_private_key(ec.SECP256R1())
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        private = leaf.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = _made("leaf", leaf, signer, hours, ((names, False), (above, False)))
        (folder / f"{name}.pem").write_bytes(chain + private)


def _made(
    name: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, hours: int, extensions: Extensions
) -> bytes:
    """A certificate that ends in so many hours."""
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "root")]),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
        key.public_key(),
        x509.random_serial_number(),
        now - timedelta(hours=48),
        now + timedelta(hours=hours),
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
